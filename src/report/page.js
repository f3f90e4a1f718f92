/* What a page can do beside being read: sort its tables, show values under the pointer, zoom. */
(() => {
  "use strict";
  const pad = (n) => String(n).padStart(2, "0");
  const duration = (s) => {
    if (s >= 7200) return Math.floor(s / 3600) + " h " + pad(Math.floor((s % 3600) / 60)) + " min";
    if (s >= 120) return Math.floor(s / 60) + " min " + pad(Math.floor(s % 60)) + " s";
    return s >= 0.9995 ? s.toFixed(1) + " s" : (s * 1e3).toFixed(0) + " ms";
  };

  /* ---- tables ---- */

  const key = (row, column) => {
    const cell = row.cells[column];
    if (!cell) return "";
    return "v" in cell.dataset ? Number(cell.dataset.v) : cell.textContent.trim();
  };
  const compare = (a, b) => {
    const numbers = typeof a === "number" && typeof b === "number";
    if (numbers) return a - b;
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return a.localeCompare(b, undefined, { numeric: true });
  };
  const sort = (table, th, column) => {
    const up = th.getAttribute("aria-sort") === "descending" ||
      (!th.hasAttribute("aria-sort") && !th.classList.contains("n"));
    for (const other of th.parentNode.cells) other.removeAttribute("aria-sort");
    th.setAttribute("aria-sort", up ? "ascending" : "descending");
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row, i) => ({ row, i, k: key(row, column) }));
    rows.sort((a, b) => (up ? 1 : -1) * compare(a.k, b.k) || a.i - b.i);
    body.append(...rows.map((x) => x.row));
  };
  for (const table of document.querySelectorAll("table"))
    if (table.tBodies[0].rows.length > 2)
      [...table.tHead.rows[0].cells].forEach((th, column) => {
        const button = document.createElement("button");
        button.type = "button";
        button.append(...th.childNodes);
        button.addEventListener("click", () => sort(table, th, column));
        th.append(button);
      });

  /* ---- charts of lines ---- */

  const points = (path) => {
    const xs = path.getAttribute("d").split(/[ML]/).slice(1).map((p) => parseFloat(p));
    return { label: path.dataset.label, xs, texts: path.dataset.v.split("\t") };
  };
  const nearest = (xs, x) => {
    let lo = 0, hi = xs.length - 1;
    while (hi - lo > 1) {
      const mid = (lo + hi) >> 1;
      if (xs[mid] <= x) lo = mid;
      else hi = mid;
    }
    return Math.abs(xs[hi] - x) < Math.abs(xs[lo] - x) ? hi : lo;
  };
  const across = (chart, x) => {
    const d = chart.svg.dataset;
    const at = +d.from + (x / 1000) * (d.to - d.from);
    return d.axis === "count" ? d.x + " " + Math.round(at) : duration(at);
  };
  const charts = [];
  const zoom = (group, from, to) => {
    for (const c of charts.filter((c) => c.group === group)) {
      c.from = from;
      c.to = to;
      c.plot.setAttribute("viewBox", from + " 0 " + (to - from) + " 100");
      const whole = from === 0 && to === 1000;
      c.reset.hidden = whole;
      for (const tick of c.ticks) tick.style.display = whole ? "" : "none";
      c.ends.forEach((end, i) => {
        end.style.display = whole ? "none" : "";
        end.textContent = across(c, i ? to : from);
      });
    }
  };
  const label = (c, x, anchor) => {
    const t = document.createElementNS(c.svg.namespaceURI, "text");
    t.setAttribute("x", x);
    t.setAttribute("y", c.bottom);
    t.setAttribute("text-anchor", anchor);
    t.setAttribute("class", "q");
    t.style.display = "none";
    c.svg.append(t);
    return t;
  };
  const show = (c, x, event) => {
    c.cursor.setAttribute("x1", x);
    c.cursor.setAttribute("x2", x);
    c.cursor.style.display = "";
    c.readout.replaceChildren();
    const head = document.createElement("div");
    const seen = c.lines.map((l) => ({ l, k: nearest(l.xs, x) })).filter((s) => s.l.xs.length);
    head.textContent = across(c, seen.length ? seen[0].l.xs[seen[0].k] : x);
    c.readout.append(head);
    for (const { l, k } of seen) {
      const row = document.createElement("div"), b = document.createElement("b");
      b.textContent = l.texts[k];
      row.append(l.label + " ", b);
      c.readout.append(row);
    }
    c.readout.hidden = false;
    const box = c.figure.getBoundingClientRect(), w = c.readout.offsetWidth;
    const left = event.clientX - box.left;
    c.readout.style.left = (left + w + 20 > box.width ? left - w - 12 : left + 12) + "px";
    c.readout.style.top = event.clientY - box.top - 12 + "px";
  };
  const hide = (c) => {
    c.readout.hidden = true;
    c.cursor.style.display = "none";
  };
  const node = (c, name, cls) => {
    const n = document.createElementNS(c.svg.namespaceURI, name);
    n.setAttribute("class", cls);
    n.style.display = "none";
    c.plot.append(n);
    return n;
  };
  const attach = (svg) => {
    const c = { svg, figure: svg.closest("figure"), plot: svg.querySelector("svg"), from: 0, to: 1000 };
    c.group = svg.dataset.sync || svg;
    c.lines = [...c.plot.querySelectorAll("path[data-v]")].map(points);
    c.ticks = [...svg.querySelectorAll(".tick")];
    c.bottom = svg.dataset.bottom;
    const title = svg.querySelector(":scope > title");
    if (title) title.remove(); /* the label says it; the browser's own hint would lie over ours */
    const left = +c.plot.getAttribute("x"), width = +c.plot.getAttribute("width");
    c.ends = [label(c, left, "start"), label(c, left + width, "end")];
    c.cursor = node(c, "line", "cursor");
    c.cursor.setAttribute("y1", 0);
    c.cursor.setAttribute("y2", 100);
    c.pick = node(c, "rect", "pick");
    c.pick.setAttribute("y", 0);
    c.pick.setAttribute("height", 100);
    c.readout = document.createElement("div");
    c.readout.className = "readout";
    c.readout.hidden = true;
    c.reset = document.createElement("button");
    c.reset.className = "reset";
    c.reset.type = "button";
    c.reset.textContent = "Whole run";
    c.reset.hidden = true;
    c.reset.addEventListener("click", () => zoom(c.group, 0, 1000));
    c.figure.append(c.readout, c.reset);
    let down = null;
    const at = (event) => {
      const box = c.plot.getBoundingClientRect();
      const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
      return c.from + share * (c.to - c.from);
    };
    svg.addEventListener("pointermove", (event) => {
      const x = at(event);
      show(c, x, event);
      if (down === null) return;
      c.pick.style.display = "";
      c.pick.setAttribute("x", Math.min(x, down));
      c.pick.setAttribute("width", Math.abs(x - down));
    });
    svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || event.pointerType === "touch") return;
      down = at(event);
      svg.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    const up = (event) => {
      const x = at(event);
      c.pick.style.display = "none";
      if (down !== null && Math.abs(x - down) > (c.to - c.from) / 100)
        zoom(c.group, Math.min(x, down), Math.max(x, down));
      down = null;
    };
    svg.addEventListener("pointerup", up);
    svg.addEventListener("pointercancel", () => {
      down = null;
      c.pick.style.display = "none";
    });
    svg.addEventListener("pointerleave", () => hide(c));
    svg.addEventListener("dblclick", () => zoom(c.group, 0, 1000));
    charts.push(c);
  };
  document.querySelectorAll("svg.lines").forEach(attach);

  /* What is folded is printed all the same. */
  addEventListener("beforeprint", () => {
    for (const d of document.querySelectorAll("details")) d.open = true;
  });
})();
