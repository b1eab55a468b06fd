// The parts of all plots: elements, numbers, axes and series.

const root = document.documentElement;
const complain = (what) => {
  root.dataset.error = what;
  document.getElementById("problem").hidden = false;
};
// An error in one plot is shown in its place; the other plots are still drawn.
const attempt = (act) => {
  try {
    act();
  } catch (error) {
    complain(error.message);
  }
};
addEventListener("error", (event) => complain(event.message));
document.addEventListener("securitypolicyviolation", (event) => complain(`refused: ${event.violatedDirective}`));

const result = JSON.parse(document.getElementById("result").textContent);
const COLOURS = 7;
const DASHES = ["", "6 3", "2 3", "9 3 2 3"];
const PAPER = 680; // pixels between the margins of a printed page
const UNITS = [
  [1, "s"],
  [1e-3, "ms"],
  [1e-6, "µs"],
  [1e-9, "ns"],
];
let printing = false;

// Elements

const fill = (node, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
};
const element = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const shape = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
const button = (text, act, attributes = {}) => {
  const node = element("button", { type: "button", ...attributes }, text);
  node.addEventListener("click", act);
  return node;
};
const colour = (number) => `var(--c${number % COLOURS})`;
const dash = (number) => DASHES[Math.floor(number / COLOURS) % DASHES.length];
const tint = (node, property, value) => {
  node.style.setProperty(property, value);
  return node;
};
const widthOf = (node) => (printing ? Math.min(PAPER, node.clientWidth || PAPER) : node.clientWidth);

// Numbers

const grouped = (value, digits = 0) =>
  value.toLocaleString("en-GB", { minimumFractionDigits: digits, maximumFractionDigits: digits });
const short = (value, digits) => {
  if (value !== 0 && (Math.abs(value) >= 1e7 || Math.abs(value) < 1e-4)) {
    const [front, power] = value.toExponential(2).split("e");
    return `${Number(front)}e${Number(power)}`;
  }
  return value.toLocaleString("en-GB", { maximumSignificantDigits: digits });
};
const seconds = (value, digits = 3) => {
  const [scale, unit] = UNITS.find(([least]) => Math.abs(value) >= least * 0.9995) || UNITS[0];
  return `${short(value / scale, digits)} ${unit}`;
};
const FORMATS = {
  count: (value) => (Math.abs(value) >= 1e7 ? `${short(value / 1e6, 4)} M` : grouped(value)),
  rate: (value) => value.toFixed(4),
  plain: (value) => short(value, 4),
  seconds,
};
const tickText = (kind, value, step) => {
  if (kind === "seconds") return seconds(value, 2);
  if (kind === "count" && Math.abs(value) >= 1) return FORMATS.count(value);
  if (!step) return short(value, 2);
  if (Math.abs(value) >= 1e7 || step < 1e-6) return short(value, 3);
  return grouped(value, Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)));
};

// Axes

const axis = ([low, high], [from, to], log) => {
  const bend = log ? Math.log : (value) => value;
  const unbend = log ? Math.exp : (value) => value;
  const [a, b] = [bend(low), bend(high)];
  return {
    low,
    high,
    log,
    from,
    to,
    place: (value) => from + ((bend(value) - a) / (b - a || 1)) * (to - from),
    value: (place) => unbend(a + ((place - from) / (to - from)) * (b - a)),
    has: (value) => value >= low && value <= high,
  };
};
const stepOf = (span, count) => {
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
};
const evenTicks = ({ low, high }, count) => {
  const step = stepOf(high - low || 1, count);
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9) + 0; k * step <= high + step * 1e-9; k += 1) ticks.push(k * step + 0);
  return { ticks, step };
};
const ticksOf = (scale, count) => {
  if (!scale.log || scale.high / scale.low < 8) return evenTicks(scale, count);
  const decades = Math.log10(scale.high / scale.low);
  const factors = decades <= 2.2 ? [1, 2, 5] : [1];
  const stride = Math.max(1, Math.ceil(decades / (count + 1)));
  const ticks = [];
  for (let power = Math.floor(Math.log10(scale.low)); power <= Math.log10(scale.high) + 1e-9; power += stride) {
    ticks.push(...factors.map((factor) => factor * 10 ** power));
  }
  return { ticks: ticks.filter((value) => value >= scale.low * 0.999 && value <= scale.high * 1.001), step: 0 };
};

// Series

const known = (value) => value !== null && value !== undefined;
const indexAt = (values, wanted) => {
  let [low, high] = [0, values.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
};
const valueAt = (series, x, of = series.y) => {
  const { x: places } = series;
  if (!places.length || x < places[0] || x > places[places.length - 1]) return null;
  const after = indexAt(places, x);
  if (places[after] === x || after === 0) return of[after];
  if (!known(of[after - 1]) || !known(of[after])) return null;
  const share = (x - places[after - 1]) / (places[after] - places[after - 1]);
  return of[after - 1] + share * (of[after] - of[after - 1]);
};
const endOf = (values) => values[values.length - 1];
const lastOf = (values) => {
  for (let i = values.length - 1; i >= 0; i -= 1) if (known(values[i])) return values[i];
  return null;
};

const nameOf = (one) => (one.bound ? `${one.label}, bound` : one.label);
const dashOf = (one) => (one.bound ? "1 3" : one.dash || null);
const sampleOf = (one, width) => {
  const line = shape("line", {
    class: one.first ? "curve first" : "curve",
    x1: 0,
    x2: width,
    y1: 5,
    y2: 5,
    "stroke-dasharray": dashOf(one),
  });
  return shape("svg", { width, height: 10, "aria-hidden": "true" }, tint(line, "stroke", one.colour));
};

// A label has the same colour in all plots. A label hidden in one plot is hidden in all.
const rank = new Map();
for (const { label } of [...result.algorithms, ...result.regret]) if (!rank.has(label)) rank.set(label, rank.size);
const hidden = new Set();
const everything = [];
const redraw = () => everything.forEach((one) => attempt(() => one.draw()));

// Redraw after a change of the width, in the next frame because drawing itself changes sizes.
const follow = (plot, node) => {
  const again = () => {
    if (!printing && node.clientWidth !== plot.drawn) plot.draw();
  };
  new ResizeObserver(() => requestAnimationFrame(again)).observe(node);
};
