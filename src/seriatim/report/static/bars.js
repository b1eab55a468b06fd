// Plots with positive and negative bars.

class BarPlot {
  constructor(figure, groups) {
    this.groups = groups;
    this.several = groups.length > 1;
    this.widest = Math.max(...groups.flatMap((group) => group.features.map(([, weight]) => Math.abs(weight))));
    this.longest = Math.max(...groups.flatMap((group) => group.features.map(([name]) => name.length)));
    const kind = this.several ? (this.longest > 12 ? "panels broad" : "panels") : "panels single";
    this.boxes = groups.map((group) => element("div", {}, ...(this.several ? [element("h3", {}, group.class)] : [])));
    this.panels = element("div", { class: kind }, ...this.boxes);
    figure.append(this.panels);
    follow(this, this.panels);
    everything.push(this);
  }

  draw() {
    this.drawn = this.panels.clientWidth;
    if (!this.drawn) return;
    this.boxes.forEach((box, i) => {
      box.querySelector("svg")?.remove();
      box.append(this.bars(this.groups[i], printing && this.several ? PAPER / 3 - 24 : widthOf(box)));
    });
  }

  text(weight) {
    const digits = Math.max(0, 2 - Math.floor(Math.log10(this.widest)));
    const size = Math.abs(weight);
    return `${weight > 0 ? "+" : "−"}${digits > 5 || this.widest >= 1e7 ? short(size, 3) : grouped(size, digits)}`;
  }

  // Several columns of panels have aligned zeros, and numbers at the edge. Else the numbers are at the bars.
  bars({ class: label, features }, width) {
    const row = this.several ? 19 : 24;
    const height = features.length * row + 2;
    const texts = features.map(([, weight]) => this.text(weight));
    const names = Math.min(width * 0.45, 12 + 7 * this.longest);
    const room = 7 * Math.max(...texts.map((text) => text.length)) + 6;
    const [down, up] = [-1, 1].map((sign) => this.several || features.some(([, weight]) => weight * sign > 0));
    const [from, to] = [names + (down && !this.several ? room : 0), width - (up ? room : 0)];
    const zero = down && up ? (from + to) / 2 : up ? from : to;
    const scale = (down && up ? (to - from) / 2 : to - from) / this.widest;
    const said = features.map(([name], i) => `${name} ${texts[i]}`).join("; ");
    const svg = shape("svg", {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": `Weights${label === null ? "" : ` of ${label}`}: ${said}.`,
    });
    features.forEach(([name, weight], i) => {
      const [middle, length, side] = [i * row + row / 2, Math.max(1, Math.abs(weight) * scale), Math.sign(weight)];
      const fits = Math.floor((names - 10) / 6.4);
      const title = shape(
        "text",
        { class: "name", x: 0, y: middle + 4 },
        name.length > fits ? `${name.slice(0, fits - 1)}…` : name,
      );
      if (name.length > fits) title.append(shape("title", {}, name));
      const place = this.several
        ? { x: width, "text-anchor": "end" }
        : { x: zero + side * (length + 5), "text-anchor": side > 0 ? "start" : "end" };
      svg.append(
        title,
        shape("rect", {
          class: side > 0 ? "positive" : "negative",
          x: side > 0 ? zero : zero - length,
          y: middle - row * 0.31,
          width: length,
          height: row * 0.62,
        }),
        shape("text", { ...place, y: middle + 4 }, texts[i]),
      );
    });
    svg.append(shape("line", { class: "base", x1: zero, x2: zero, y1: 0, y2: height }));
    return svg;
  }
}
