// SPDX-License-Identifier: Apache-2.0
// dialog.tsx - a modal dialog on the browser's own <dialog>: it traps the focus, Escape closes it,
// and the focus goes back to where it came from.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

import "./dialog.css";

export function Dialog(p: { title: string; onClose: () => void; children?: ComponentChildren }) {
  const box = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = box.current;
    dialog?.showModal();
    return () => dialog?.close(); // gives the focus back; a dialog that is only removed does not
  }, []);
  return (
    <dialog
      ref={box}
      class="dialog"
      aria-labelledby={id}
      onCancel={(e) => {
        e.preventDefault();
        p.onClose();
      }}
      onClick={(e) => {
        if (e.target === box.current) p.onClose();
      }}
    >
      <div class="dialog-body">
        <h2 id={id}>{p.title}</h2>
        {p.children}
      </div>
    </dialog>
  );
}
