// The plots of the page

const styled = (label) => ({
  label,
  colour: colour(rank.get(label)),
  dash: dash(rank.get(label)),
  first: rank.get(label) === 0,
});
const measureFormat = result.measure.endsWith("rate") ? "rate" : "plain";
const farApart = (series) => {
  const ends = series
    .map((one) => lastOf(one.y))
    .filter((value) => value > 0)
    .sort((a, b) => a - b);
  return ends.length > 1 && endOf(ends) > 20 * ends[ends.length >> 1];
};
const ofAlgorithms = (name, x, y) =>
  result.algorithms
    .filter((one) => one[name] && one[name][x].length)
    .map((one) => ({
      ...styled(one.label),
      x: one[name][x],
      y: one[name][y],
      around: one[name].deviation || null,
    }));

const byExamples = { nameX: "examples", unitX: "examples", formatX: "count" };
const byDays = { nameX: "days", unitX: "days", formatX: "count" };
const byMeasure = { nameY: result.measure, formatY: measureFormat };

const PLOTS = {
  curves: (figure) => {
    const series = ofAlgorithms("curve", "examples", "mean");
    return new LinePlot(figure, {
      name: "curves",
      series,
      ...byExamples,
      ...byMeasure,
      settles: true,
      logY: farApart(series),
    });
  },
  time: (figure) => {
    const series = ofAlgorithms("time", "seconds", "value");
    const byTime = { nameX: "time", formatX: "seconds", logX: true };
    return new LinePlot(figure, {
      name: "time",
      series,
      ...byTime,
      ...byMeasure,
      ends: true,
      logY: farApart(series),
    });
  },
  updates: (figure) => {
    const series = ofAlgorithms("updates", "examples", "mean");
    return new LinePlot(figure, { name: "updates", series, ...byExamples, nameY: "updates", formatY: "count" });
  },
  // Logarithmic axes show powers of the number of examples as straight lines.
  regret: (figure) => {
    const series = result.regret.flatMap((one) => {
      const line = { ...styled(one.label), first: false, x: one.examples };
      return [{ ...line, y: one.regret }, ...(one.bound ? [{ ...line, y: one.bound, bound: true }] : [])];
    });
    const log = series.every((one) => (lastOf(one.y) ?? 1) > 0);
    const about = { nameY: "regret", formatY: "plain", divisible: true, logX: log, logY: log };
    return new LinePlot(figure, { name: "regret", series, ...byExamples, ...about });
  },
  order: (figure) => {
    const { order } = result;
    const line = (label, number, y) => ({ label, colour: colour(number), dash: "", x: order.examples, y });
    const series = [line("so far", 6, order.value)];
    if (order.recent) series.unshift({ ...line(`last ${grouped(order.window || 0)}`, 0, order.recent), first: true });
    const about = { own: true, marks: result.drift, settles: true };
    return new LinePlot(figure, { name: "order", series, ...byExamples, ...byMeasure, ...about });
  },
  features: (figure) => new BarPlot(figure, result.heaviest),
  wealth: (figure) => {
    const series = ofAlgorithms("wealth", "days", "value");
    return new LinePlot(figure, { name: "wealth", series, ...byDays, nameY: "wealth", formatY: "plain", logY: true });
  },
  drawdown: (figure) => {
    const series = ofAlgorithms("drawdown", "days", "value");
    return new LinePlot(figure, { name: "drawdown", series, ...byDays, nameY: "drawdown", formatY: "rate" });
  },
};
for (const figure of document.querySelectorAll("[data-plot]")) attempt(() => PLOTS[figure.dataset.plot](figure));
redraw();

// Tables: a click on a heading sorts

const keyOf = (row, column) => {
  const cell = row.children[column];
  const text = cell.dataset.value ?? cell.textContent;
  return text === "" || Number.isNaN(Number(text)) ? text : Number(text);
};
const isNumber = (value) => typeof value === "number";
const compare = (a, b, direction) => {
  if (isNumber(a) !== isNumber(b)) return isNumber(a) ? -1 : 1; // missing values come last in both directions
  return direction * (isNumber(a) ? a - b : a.localeCompare(b));
};
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  table.querySelectorAll("thead th").forEach((head) => {
    head.querySelector("button")?.addEventListener("click", () => {
      const column = head.cellIndex;
      const down = head.getAttribute("aria-sort") === "ascending";
      table.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const direction = down ? -1 : 1;
      body.append(...[...body.rows].sort((a, b) => compare(keyOf(a, column), keyOf(b, column), direction)));
    });
  });
}

// Counts or shares of a large confusion matrix

for (const choice of document.querySelectorAll("[data-shows]")) {
  choice.addEventListener("click", () => {
    const shares = choice.dataset.shows === "shares";
    document.querySelector("table.confusion").classList.toggle("shares", shares);
    for (const other of document.querySelectorAll("[data-shows]"))
      other.setAttribute("aria-pressed", String(other === choice));
  });
}

// Light and dark

const theme = document.getElementById("theme");
const system = matchMedia("(prefers-color-scheme: dark)");
const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
const nameTheme = () => {
  theme.textContent = dark() ? "light" : "dark";
  theme.setAttribute("aria-label", `${theme.textContent} colours`);
};
const stored = (act) => {
  try {
    return act(localStorage);
  } catch {
    return null;
  }
};
const kept = stored((storage) => storage.getItem("seriatim-theme"));
if (kept === "light" || kept === "dark") root.dataset.theme = kept;
theme.addEventListener("click", () => {
  root.dataset.theme = dark() ? "light" : "dark";
  stored((storage) => storage.setItem("seriatim-theme", root.dataset.theme));
  nameTheme();
});
system.addEventListener("change", nameTheme);
theme.hidden = false;
nameTheme();

// Copying the command

for (const copy of document.querySelectorAll(".copy")) {
  copy.hidden = false;
  const code = copy.parentNode.querySelector("code");
  copy.addEventListener("click", async () => {
    let done = false;
    try {
      await navigator.clipboard.writeText(code.textContent);
      done = true;
    } catch {
      getSelection().selectAllChildren(code); // no access to the clipboard: let the reader copy it
    }
    copy.textContent = done ? "copied" : "selected";
    setTimeout(() => {
      copy.textContent = "copy";
    }, 1500);
  });
}

// Printing uses the width of the paper

const print = (on) => () => {
  printing = on;
  redraw();
};
addEventListener("beforeprint", print(true));
addEventListener("afterprint", print(false));
