// Lines over an axis, with a legend, values under the pointer, zoom and logarithmic axes.

// Positions close to the wanted ones, which ascend, with at least this distance between neighbours.
const spreadOut = (wanted, distance, top, bottom) => {
  const groups = [];
  for (const place of wanted) {
    groups.push({ sum: place, size: 1, first: place });
    while (true) {
      const [upper, lower] = groups.slice(-2);
      const last = groups[groups.length - 1];
      const half = ((last.size - 1) * distance) / 2;
      last.first = Math.max(top, Math.min(bottom - (last.size - 1) * distance, last.sum / last.size - half));
      if (!lower || upper.first + upper.size * distance <= lower.first) break;
      groups.splice(-2, 2, { sum: upper.sum + lower.sum, size: upper.size + lower.size, first: 0 });
    }
  }
  return groups.flatMap(({ first, size }) => Array.from({ length: size }, (_, i) => first + i * distance));
};

class LinePlot {
  constructor(figure, about) {
    Object.assign(this, { figure, about, zoom: null, focus: null, place: null, shared: !about.own });
    this.hidden = this.shared ? hidden : new Set();
    this.log = { x: Boolean(about.logX), y: Boolean(about.logY) };
    this.divided = false;
    this.clip = `clip-${about.name}`;
    this.canvas = element("div", { class: "canvas" });
    this.legend = element("ul", { class: "legend", "aria-label": "Shown and hidden by click" });
    this.tip = element("div", { class: "tip", role: "status", hidden: "" });
    this.build();
    everything.push(this);
  }

  get series() {
    if (!this.divided) return this.about.series;
    return this.about.series.map((one) => ({
      ...one,
      y: one.y.map((value, i) => (known(value) ? value / one.x[i] : null)),
    }));
  }

  get visible() {
    return this.series.filter((one) => !this.hidden.has(one.label));
  }

  build() {
    const toggle = (text, pressed, act) => {
      const node = button(
        text,
        () => {
          node.setAttribute("aria-pressed", String(act()));
          this.zoom = null;
          this.draw();
        },
        { "aria-pressed": String(pressed) },
      );
      return node;
    };
    this.reset = button("reset zoom", () => this.unzoom(), { hidden: "" });
    this.all = button(
      "show all",
      () => {
        this.hidden.clear();
        this.changed();
      },
      { hidden: "" },
    );
    const controls = element(
      "p",
      { class: "controls" },
      toggle("log x", this.log.x, () => (this.log.x = !this.log.x)),
      toggle("log y", this.log.y, () => (this.log.y = !this.log.y)),
      ...(this.about.divisible ? [toggle("per example", false, () => (this.divided = !this.divided))] : []),
      this.reset,
      this.all,
      ...(everything.length ? [] : [element("span", { class: "hint" }, "drag to zoom, double-click to reset")]),
    );
    this.note = element(
      "p",
      { class: "note", hidden: "" },
      "The first examples lie above the frame; a logarithmic axis shows them.",
    );
    this.figure.append(controls, this.canvas, this.note, this.values());
    follow(this, this.canvas);
  }

  changed() {
    if (this.shared) redraw();
    else this.draw();
  }

  unzoom() {
    this.zoom = null;
    this.draw();
  }

  // The visible part

  spanX() {
    const ends = this.visible.flatMap((one) => [one.x.find((x) => !this.log.x || x > 0), endOf(one.x)]).filter(known);
    if (!ends.length) return [this.log.x ? 1 : 0, 2];
    const [low, high] = [Math.min(...ends), Math.max(...ends)];
    if (low === high) return this.log.x ? [low / 2, high * 2] : [low - 1, high + 1];
    return [!this.log.x && low > 0 && low < 0.2 * high ? 0 : low, high];
  }

  spanY([left, right]) {
    const settled = this.log.x || this.zoom || !this.about.settles ? left : left + 0.03 * (right - left);
    const [all, late] = [[], []];
    for (const one of this.visible) {
      one.x.forEach((x, i) => {
        if (!known(one.y[i]) || x < left || x > right || (this.log.y && one.y[i] <= 0)) return;
        const around = (one.around && one.around[i]) || 0;
        const ends = [one.y[i] - around, one.y[i] + around].map((y) => (this.log.y && y <= 0 ? one.y[i] : y));
        all.push(...ends);
        if (x >= settled) late.push(...ends);
      });
    }
    if (!all.length) return [this.log.y ? 0.1 : 0, 1];
    const top = Math.max(...all);
    const lateTop = late.length ? Math.max(...late) : top;
    const cut = !this.log.y && lateTop < 0.8 * top;
    this.note.hidden = !cut;
    const [low, high] = [Math.min(...(cut ? late : all)), cut ? lateTop : top];
    if (this.log.y) return low === high ? [low / 2, high * 2] : [low / 1.08, high * 1.08];
    const margin = (high - low || Math.abs(high) || 1) * 0.05;
    return [low >= 0 && low < 0.4 * high ? 0 : low - margin, high + margin];
  }

  // Drawing

  draw() {
    this.drawn = this.canvas.clientWidth;
    const width = widthOf(this.canvas);
    if (!width) return;
    this.putAway();
    this.canvas.replaceChildren(this.legend, this.tip);
    this.fillLegend();
    const beside = width >= 620;
    const legendWidth = beside ? Math.ceil(this.measureLegend()) : 0;
    const rows = this.legend.children.length;
    const height = beside
      ? Math.max(Math.min(460, width * (printing ? 0.5 : 0.44)), rows * 19 + 60)
      : Math.max(250, width * 0.8);
    const spanX = this.zoom ? this.zoom.x : this.spanX();
    const spanY = (this.zoom && this.zoom.y) || this.spanY(spanX);
    const y = axis(spanY, [height - 44, (this.about.marks || []).length ? 36 : 26], this.log.y);
    const marksY = ticksOf(y, height > 300 ? 6 : 4);
    const textsY = marksY.ticks.map((value) => tickText(this.about.formatY, value, marksY.step));
    const left = 14 + 6.8 * Math.max(2, ...textsY.map((text) => text.length));
    const x = axis(spanX, [left, beside ? width - legendWidth - 34 : width - 14], this.log.x);
    Object.assign(this, { x, y, width, height });
    this.svg = shape("svg", {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      tabindex: 0,
      "aria-label": this.spoken(),
    });
    this.svg.append(
      shape(
        "clipPath",
        { id: this.clip },
        shape("rect", { x: x.from, y: y.to - 4, width: Math.max(0, x.to - x.from + 4), height: y.from - y.to + 4 }),
      ),
      this.frame(marksY, textsY),
      this.marks(),
      this.lines(),
    );
    this.guide = shape("g", { class: "guides" });
    this.svg.append(this.guide);
    this.canvas.prepend(this.svg);
    this.placeLegend(beside, legendWidth);
    this.listen();
    this.reset.hidden = !this.zoom;
    this.all.hidden = !this.about.series.some((one) => this.hidden.has(one.label));
    this.lift();
  }

  frame(marksY, textsY) {
    const { x, y } = this;
    const group = shape("g", { "aria-hidden": "true" });
    marksY.ticks.forEach((value, i) => {
      const at = Math.round(y.place(value)) + 0.5;
      group.append(
        shape("line", { class: "grid", x1: x.from, x2: x.to, y1: at, y2: at }),
        shape("text", { x: x.from - 8, y: at + 4, "text-anchor": "end" }, textsY[i]),
      );
    });
    const marksX = ticksOf(x, Math.max(2, Math.floor((x.to - x.from) / 95)));
    let free = -Infinity;
    for (const value of marksX.ticks) {
      const [at, text] = [x.place(value), tickText(this.about.formatX, value, marksX.step)];
      const half = text.length * 3.4;
      group.append(shape("line", { class: "base", x1: at, x2: at, y1: y.from, y2: y.from + 4 }));
      if (at - half < free) continue;
      free = at + half + 6;
      group.append(
        shape("text", { x: Math.min(at, this.width - half), y: y.from + 18, "text-anchor": "middle" }, text),
      );
    }
    group.append(
      shape("line", { class: "base", x1: x.from, x2: x.to, y1: y.from + 0.5, y2: y.from + 0.5 }),
      shape("text", { class: "name", x: x.to, y: y.from + 36, "text-anchor": "end" }, this.about.nameX),
      shape(
        "text",
        { class: "name", x: 0, y: 12 },
        this.divided ? `${this.about.nameY} per example` : this.about.nameY,
      ),
    );
    return group;
  }

  marks() {
    const { x, y } = this;
    const [group, format] = [shape("g", { class: "marks" }), FORMATS[this.about.formatY]];
    let free = -Infinity;
    for (const { at: place, before, after } of this.about.marks || []) {
      if (!x.has(place)) continue;
      const at = x.place(place);
      group.append(shape("line", { class: "mark", x1: at, x2: at, y1: y.to, y2: y.from }));
      for (const [value, side] of [
        [before, -1],
        [after, 1],
      ]) {
        if (!known(value) || (y.log && value <= 0) || !y.has(value)) continue;
        const end = Math.max(x.from, Math.min(x.to, at + side * Math.min(36, (x.to - x.from) / 12)));
        group.append(shape("line", { class: "level", x1: at, x2: end, y1: y.place(value), y2: y.place(value) }));
      }
      if (known(before) && known(after) && at - 48 > free && at + 48 < this.width) {
        group.append(
          shape("text", { x: at, y: y.to - 6, "text-anchor": "middle" }, `${format(before)} → ${format(after)}`),
        );
        free = at + 56;
      }
    }
    return group;
  }

  lines() {
    const group = shape("g", { "clip-path": `url(#${this.clip})` });
    for (const one of [...this.visible].reverse()) {
      if (one.around && one.around.some((value) => value)) {
        group.append(
          tint(shape("path", { class: "band", "data-of": one.label, d: this.bandPath(one) }), "fill", one.colour),
        );
      }
      const line = shape("path", {
        class: one.first ? "curve first" : "curve",
        "data-of": one.label,
        "data-kind": one.bound ? "bound" : "curve",
        "stroke-dasharray": dashOf(one),
        d: this.linePath(one),
      });
      group.append(tint(line, "stroke", one.colour));
      if (one.bound) group.append(...this.boundName(one));
      if (this.about.ends && lastOf(one.y) !== null && !one.bound) {
        const place = { cx: this.x.place(endOf(one.x)), cy: this.y.place(lastOf(one.y)) };
        const dot = shape("circle", { class: "end", "data-of": one.label, r: 4, ...place });
        if (this.usable(endOf(one.x), lastOf(one.y))) group.append(tint(dot, "fill", one.colour));
      }
    }
    return group;
  }

  // On the side of the middle where the line is lower.
  boundName(one) {
    const [middle, early] = [
      this.x.value((this.x.from + this.x.to) / 2),
      this.x.value(this.x.from * 0.7 + this.x.to * 0.3),
    ];
    const [value, before] = [valueAt(one, middle), valueAt(one, early)];
    if (!this.usable(middle, value) || !this.y.has(value)) return [];
    const anchor = known(before) && before > value ? "start" : "end";
    const place = { x: this.x.place(middle), y: this.y.place(value) - 9, "text-anchor": anchor };
    return [tint(shape("text", { "data-of": one.label, ...place }, nameOf(one)), "fill", one.colour)];
  }

  usable(x, y) {
    return known(x) && known(y) && (!this.log.x || x > 0) && (!this.log.y || y > 0);
  }

  linePath(one) {
    let [path, pen] = ["", "M"];
    one.x.forEach((x, i) => {
      if (!this.usable(x, one.y[i])) {
        pen = "M";
        return;
      }
      path += `${pen}${this.x.place(x).toFixed(1)} ${this.y.place(one.y[i]).toFixed(1)}`;
      pen = "L";
    });
    return path;
  }

  bandPath(one) {
    const ends = one.x.map((x, i) => [x, one.y[i], one.around[i] || 0]).filter(([x, y]) => this.usable(x, y));
    const at = (x, y) =>
      `${this.x.place(x).toFixed(1)} ${this.y.place(this.log.y ? Math.max(y, this.y.low) : y).toFixed(1)}`;
    const up = ends.map(([x, y, around]) => at(x, y + around));
    const down = ends.reverse().map(([x, y, around]) => at(x, y - around));
    return up.length ? `M${[...up, ...down].join("L")}Z` : "";
  }

  // The legend: beside the ends of the lines if there is room, else below

  entries() {
    return this.series.filter((one) => !one.bound);
  }

  fillLegend() {
    const format = FORMATS[this.divided ? "plain" : this.about.formatY];
    const shown = (one) => !this.hidden.has(one.label);
    const last = (one) => (this.zoom ? valueAt(one, this.zoom.x[1]) : null) ?? lastOf(one.y);
    const entries = this.entries().sort(
      (a, b) => shown(b) - shown(a) || (last(b) ?? -Infinity) - (last(a) ?? -Infinity),
    );
    const focused =
      document.activeElement && this.legend.contains(document.activeElement) ? document.activeElement.dataset.of : null;
    this.legend.replaceChildren(
      ...entries.map((one) => {
        const value = last(one);
        const node = button(
          "",
          () => {
            if (this.hidden.has(one.label)) this.hidden.delete(one.label);
            else this.hidden.add(one.label);
            this.changed();
          },
          {
            "aria-pressed": String(shown(one)),
            "data-of": one.label,
            title: `${shown(one) ? "hide" : "show"} ${one.label}`,
          },
        );
        node.append(
          sampleOf(one, 18),
          element("span", { class: "of" }, one.label),
          element("span", { class: "value" }, value === null ? "" : format(value)),
        );
        const focus = (label) => () => {
          this.focus = label;
          this.lift();
        };
        node.addEventListener("pointerenter", focus(one.label));
        node.addEventListener("pointerleave", focus(null));
        return element("li", {}, node);
      }),
    );
    if (focused !== null)
      [...this.legend.querySelectorAll("button")].find((node) => node.dataset.of === focused)?.focus();
  }

  measureLegend() {
    this.legend.className = "legend";
    tint(this.legend, "width", "max-content");
    [...this.legend.children].forEach((row) => tint(row, "top", ""));
    return Math.min(this.legend.getBoundingClientRect().width + 2, 260, this.canvas.clientWidth * 0.34);
  }

  placeLegend(beside, width) {
    this.legend.className = `legend ${beside ? "beside" : "below"}`;
    tint(this.legend, "width", beside ? `${width}px` : "");
    tint(this.legend, "left", "");
    if (!beside) return;
    const { x, y } = this;
    tint(this.legend, "left", `${this.width - width}px`);
    const series = new Map(this.entries().map((one) => [one.label, one]));
    const wanted = [...this.legend.children]
      .map((row) => {
        const one = series.get(row.firstChild.dataset.of);
        if (this.hidden.has(one.label)) return { row, at: Infinity, end: null };
        const edge = valueAt(one, x.high);
        const value = edge ?? lastOf(one.y);
        const place = this.usable(1, value) ? y.place(value) : y.from;
        const led = edge !== null && y.has(edge) && !this.about.ends;
        return { row, one, at: Math.max(y.to, Math.min(y.from, place)), end: led ? place : null };
      })
      .sort((a, b) => a.at - b.at);
    this.legend.append(...wanted.map(({ row }) => row));
    const places = spreadOut(
      wanted.map(({ at }) => Math.min(at, y.from + 8)),
      18,
      y.to - 14,
      this.height - 10,
    );
    wanted.forEach(({ row, one, end }, i) => {
      tint(row, "top", `${places[i] - 9}px`);
      row.classList.toggle("out", Boolean(one) && end === null && !this.about.ends);
      if (end === null) return;
      const bend = x.to + 14;
      const d = `M${x.to + 3} ${end}C${bend} ${end} ${bend} ${places[i]} ${x.to + 26} ${places[i]}`;
      const line = shape("path", { class: "leader", "data-of": one.label, d });
      this.svg.append(tint(line, "stroke", one.colour));
    });
  }

  lift() {
    for (const node of this.svg ? this.svg.querySelectorAll("[data-of]") : []) {
      node.classList.toggle("faded", this.focus !== null && node.dataset.of !== this.focus);
      node.classList.toggle("lifted", node.dataset.of === this.focus);
    }
  }

  // Pointer and keys

  listen() {
    const { svg } = this;
    const at = (event) => {
      const box = svg.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    let from = null;
    const brush = shape("rect", { class: "brush" });
    svg.addEventListener("pointerdown", (event) => {
      const [px, py] = at(event);
      if (event.button || !this.inside(px, py)) return;
      from = [px, py];
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", (event) => {
      const [px, py] = at(event);
      if (!from) {
        if (this.inside(px, py)) this.show(this.nearest(this.x.value(px)));
        else this.putAway();
        return;
      }
      const box = this.box(from, [px, py]);
      if (!box) return;
      this.putAway();
      fill(brush, { x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top }, []);
      if (!brush.parentNode) svg.append(brush);
    });
    const end = (event) => {
      const box = from && event.type === "pointerup" ? this.box(from, at(event)) : null;
      const tapped = from && !box && event.pointerType === "touch";
      from = null;
      brush.remove();
      if (box) this.zoomTo(box);
      else if (tapped) this.show(this.nearest(this.x.value(at(event)[0])));
    };
    svg.addEventListener("pointerup", end);
    svg.addEventListener("pointercancel", end);
    svg.addEventListener("pointerleave", (event) => {
      if (event.pointerType !== "touch") this.putAway();
    });
    svg.addEventListener("dblclick", () => this.unzoom());
    svg.addEventListener("blur", () => this.putAway());
    svg.addEventListener("keydown", (event) => this.key(event));
  }

  inside(px, py) {
    return px >= this.x.from - 6 && px <= this.x.to + 6 && py >= this.y.to - 10 && py <= this.y.from + 10;
  }

  // A flat drag zooms along x only; y adapts.
  box([ax, ay], [bx, by]) {
    const { x, y } = this;
    const within = (value, low, high) => Math.max(low, Math.min(high, value));
    const [left, right] = [Math.min(ax, bx), Math.max(ax, bx)].map((value) => within(value, x.from, x.to));
    if (right - left < 8) return null;
    const flat = Math.abs(by - ay) < 24;
    const [top, bottom] = flat
      ? [y.to, y.from]
      : [Math.min(ay, by), Math.max(ay, by)].map((value) => within(value, y.to, y.from));
    return { left, right, top, bottom, flat };
  }

  zoomTo({ left, right, top, bottom, flat }) {
    const { x, y } = this;
    this.zoom = { x: [x.value(left), x.value(right)], y: flat ? null : [y.value(bottom), y.value(top)] };
    this.draw();
  }

  places() {
    const all = new Set(this.visible.flatMap((one) => one.x));
    return [...all].filter((value) => this.x.has(value) && (!this.log.x || value > 0)).sort((a, b) => a - b);
  }

  nearest(wanted) {
    const places = this.places();
    if (!places.length) return null;
    const after = indexAt(places, wanted);
    return after && wanted - places[after - 1] < places[after] - wanted ? places[after - 1] : places[after];
  }

  key(event) {
    if (event.key === "Escape") {
      this.putAway();
      this.unzoom();
      this.svg.focus();
      return;
    }
    const places = this.places();
    const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -places.length, End: places.length };
    if (!(event.key in steps) || !places.length) return;
    event.preventDefault();
    const stride = Math.max(1, Math.round(places.length / 50));
    const now = this.place === null ? (steps[event.key] > 0 ? -stride : places.length) : indexAt(places, this.place);
    this.show(places[Math.max(0, Math.min(places.length - 1, now + steps[event.key] * stride))]);
  }

  show(place) {
    if (place === null) return;
    this.place = place;
    const { x, y, about } = this;
    const format = FORMATS[this.divided ? "plain" : about.formatY];
    const px = x.place(place);
    const found = this.visible.map((one) => ({ one, value: valueAt(one, place) })).filter(({ value }) => known(value));
    found.sort((a, b) => b.value - a.value);
    this.guide.replaceChildren(
      shape("line", { class: "guide", x1: px, x2: px, y1: y.to, y2: y.from }),
      ...found
        .filter(({ value }) => this.usable(1, value) && y.has(value))
        .map(({ one, value }) =>
          tint(shape("circle", { class: "at", r: 3.5, cx: px, cy: y.place(value) }), "fill", one.colour),
        ),
    );
    const rows = found.map(({ one, value }) => {
      const around = one.around ? valueAt(one, place, one.around) : null;
      const figure = element("td", {}, format(value));
      if (around) figure.append(element("span", { class: "deviation" }, ` ± ${format(around)}`));
      return element("tr", {}, element("td", {}, sampleOf(one, 14)), element("td", {}, nameOf(one)), figure);
    });
    const text = (value) => (known(value) ? format(value) : "?");
    for (const mark of (about.marks || []).filter(({ at }) => Math.abs(x.place(at) - px) < 8)) {
      const change = [`change (${mark.detector})`, `${text(mark.before)} → ${text(mark.after)}`];
      rows.push(element("tr", {}, element("td"), ...change.map((one) => element("td", {}, one))));
    }
    const where = `${FORMATS[about.formatX](place)} ${about.unitX || ""}`.trim();
    this.tip.replaceChildren(element("b", {}, where), element("table", {}, element("tbody", {}, ...rows)));
    this.tip.hidden = false;
    const [wide, high] = [this.tip.offsetWidth, this.tip.offsetHeight];
    const right = px + 16 + wide <= this.width || px < this.width / 2;
    tint(this.tip, "left", `${Math.max(0, Math.min(this.width - wide, right ? px + 16 : px - 16 - wide))}px`);
    tint(this.tip, "top", `${Math.max(0, (y.to + y.from - high) / 2)}px`);
  }

  putAway() {
    this.place = null;
    this.tip.hidden = true;
    if (this.guide) this.guide.replaceChildren();
  }

  // The plot as text and as a table

  spoken() {
    const format = FORMATS[this.divided ? "plain" : this.about.formatY];
    const ends = this.visible
      .filter((one) => lastOf(one.y) !== null)
      .map((one) => `${nameOf(one)} ${format(lastOf(one.y))}`);
    return `${this.about.nameY} against ${this.about.nameX}. At the end: ${ends.join("; ")}.`;
  }

  values() {
    const box = element("details", {}, element("summary", {}, "values"));
    box.addEventListener("toggle", () => {
      if (box.open && !box.querySelector("table")) box.append(element("div", { class: "wide" }, this.table()));
    });
    return box;
  }

  table() {
    const { series, formatX, formatY, nameX } = this.about;
    const { x } = series.reduce((a, b) => (b.x.length > a.x.length ? b : a));
    const tenths = Array.from({ length: 10 }, (_, i) => x[indexAt(x, ((i + 1) * endOf(x)) / 10)]);
    const places = [...new Set(tenths)];
    const text = (value) => (known(value) ? FORMATS[formatY](value) : "–");
    const head = places.map((place) => element("th", { scope: "col", class: "number" }, FORMATS[formatX](place)));
    const rows = series.map((one) => {
      const cells = places.map((place) => element("td", { class: "number" }, text(valueAt(one, place))));
      return element("tr", {}, element("th", { scope: "row" }, nameOf(one)), ...cells);
    });
    const top = element("thead", {}, element("tr", {}, element("th", { scope: "col" }, nameX), ...head));
    return element("table", {}, top, element("tbody", {}, ...rows));
  }
}
