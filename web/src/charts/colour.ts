// SPDX-License-Identifier: Apache-2.0
// colour.ts - the colour scale of heatmaps. Made by a formula in OKLab, lightness rising evenly from
// end to end: it reads the same in grey, in print and with any colour vision.

export type Rgb = readonly [number, number, number];

const DARK = { light: 0.24, hue: 295 };
const BRIGHT = { light: 0.93, hue: 105 };
const CHROMA = 0.125;

const gamma = (v: number): number => {
  const c = Math.min(Math.max(v, 0), 1);
  return Math.round(255 * (c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055));
};

function oklch(light: number, chroma: number, hue: number): Rgb {
  const a = chroma * Math.cos((hue * Math.PI) / 180);
  const b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (light - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    gamma(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    gamma(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    gamma(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

/** The colour of a share from 0 (dark violet) over blue-green to 1 (bright yellow). */
export function scaleColour(share: number): Rgb {
  const t = Math.min(Math.max(share, 0), 1);
  const light = DARK.light + (BRIGHT.light - DARK.light) * t;
  const hue = DARK.hue + (BRIGHT.hue - DARK.hue) * t;
  return oklch(light, CHROMA * (0.75 + 0.5 * t), hue);
}

export const cssOf = ([r, g, b]: Rgb): string => `rgb(${r} ${g} ${b})`;

/** How bright the eye finds a colour, 0 to 1. */
export function luminance(rgb: Rgb): number {
  const [r, g, b] = rgb.map((v) => (v <= 10.31475 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4)) as [
    number,
    number,
    number,
  ];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

const WRONG: Rgb = [226, 29, 46]; // of no value of the scale

/** The scale as pixels: index 0..steps, each red, green, blue, opaque; then transparent to 255, but for `wrong`. */
export function scalePixels(steps: number, wrong?: number): Uint32Array {
  const pixels = new Uint32Array(256);
  const bytes = new Uint8Array(pixels.buffer);
  for (let i = 0; i <= steps; i++) bytes.set([...scaleColour(i / steps), 255], 4 * i);
  if (wrong !== undefined) bytes.set([...WRONG, 255], 4 * wrong);
  return pixels;
}

/** Black or white, whichever reads better on a colour written #rrggbb. */
export function textOn(hex: string): string {
  const n = Number.parseInt(hex.slice(1), 16);
  const light = luminance([(n >> 16) & 255, (n >> 8) & 255, n & 255]);
  return light > 0.18 ? "#000" : "#fff";
}
