/** The charts, in a chunk of their own: uPlot is loaded when they are first shown. */
import { useEffect, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { HealthHistory } from "../../api/schema";
import { useShownTheme } from "../../design/media";
import { clock, counted, type Zone } from "../../design/numbers";
import { usePreferences } from "../../design/preferences";
import styles from "./charts.module.css";
import { alone, gapsOf, PLOTS, type Plot, plotWords, stepsOf, toldOf, topOf } from "./series";

const HEIGHT = 128;
/** One cursor over all charts. */
const CURSOR = "health";

/** `ended`: attempts that ended lately, of which the shares of now are. */
export default function Charts({ history, ended }: { history: HealthHistory; ended: number | null }) {
  const [at, setAt] = useState<number | null>(null);
  const steps = useMemo(() => stepsOf(history), [history]);
  const { zone } = usePreferences();
  return (
    <div className={styles.charts}>
      {PLOTS.map((plot) => (
        <Chart
          key={plot.title}
          plot={plot}
          history={history}
          ended={plot.isShare ? ended : null}
          steps={steps}
          at={at}
          zone={zone}
          point={setAt}
        />
      ))}
      <p className={styles.moment} aria-hidden="true">
        {at === null || steps[at] === undefined
          ? "Point at a chart to read all of them at one moment. A grey ground: no server sampled then."
          : momentWords(steps[at], zone)}
      </p>
    </div>
  );
}

interface ChartProps {
  plot: Plot;
  history: HealthHistory;
  /** Of how many attempts the values of now are shares. */
  ended: number | null;
  steps: number[];
  at: number | null;
  zone: Zone;
  point: (at: number | null) => void;
}

function Chart({ plot, history, ended, steps, at, zone, point }: ChartProps) {
  return (
    <figure className={styles.chart}>
      <figcaption>
        <h3 title={plot.meaning}>{plot.title}</h3>
        <ul className={styles.legend}>
          {plot.lines.map((line) => (
            <li key={line.name}>
              <svg width="14" height="8" aria-hidden="true">
                <line
                  x2="14"
                  y1="4"
                  y2="4"
                  stroke={`var(${line.ink})`}
                  strokeWidth="2"
                  strokeDasharray={line.dash?.join(" ")}
                />
              </svg>
              {line.label} <b>{plot.write(valueAt(history, line.name, at))}</b>
            </li>
          ))}
          {plot.isShare && <li>of {endedAt(history, ended, at)}</li>}
        </ul>
      </figcaption>
      <Canvas plot={plot} history={history} steps={steps} zone={zone} point={point} />
    </figure>
  );
}

/** Of how many attempts the shares are, now or at a moment that is pointed at. */
function endedAt(history: HealthHistory, now: number | null, at: number | null): string {
  const ended = at === null ? now : history.series.ended[at];
  return ended == null ? "attempts nobody counted" : counted(ended, "attempt");
}

function valueAt(history: HealthHistory, name: Plot["lines"][number]["name"], at: number | null): number | null {
  const values = history.series[name];
  return at === null ? toldOf(values).now : (values[at] ?? null);
}

function Canvas({ plot, history, steps, zone, point }: Omit<ChartProps, "at" | "ended">) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const inks = useInks();
  const data = useMemo(
    () => [steps, ...plot.lines.map((line) => [...history.series[line.name]])] as uPlot.AlignedData,
    [history, plot, steps],
  );
  const latest = useRef({ data, history });
  latest.current = { data, history };
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const gaps = () => gapsOf(latest.current.history);
    const made = new uPlot(
      options(plot, inks, zone, { width: element.clientWidth, gaps, point }),
      latest.current.data,
      element,
    );
    chart.current = made;
    void document.fonts.ready.then(() => chart.current === made && made.redraw(false));
    const watch = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      chart.current = null;
      made.destroy();
    };
  }, [plot, inks, zone, point]);
  useEffect(() => chart.current?.setData(data), [data]);
  return <div ref={place} className={styles.canvas} role="img" aria-label={plotWords(plot, history)} />;
}

interface Surroundings {
  width: number;
  gaps: () => ReturnType<typeof gapsOf>;
  point: (at: number | null) => void;
}

type Inks = (name: string) => string;

function options(plot: Plot, inks: Inks, zone: Zone, { width, gaps, point }: Surroundings): uPlot.Options {
  const font = `500 11px ${getComputedStyle(document.body).fontFamily}`;
  const axis: uPlot.Axis = { stroke: inks("--muted"), font, ticks: { show: false } };
  const grid = { stroke: inks("--line"), width: 1 };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    padding: [8, 20, 0, 0],
    cursor: { sync: { key: CURSOR }, y: false, points: { size: 5 }, drag: { x: false, y: false } },
    scales: { y: { range: (_, __, highest) => [0, topOf(plot, highest)] } },
    axes: [
      { ...axis, grid: { show: false }, size: 24, values: (_, at) => at.map((one) => axisWords(one, at, zone)) },
      {
        ...axis,
        grid,
        size: 64,
        splits: (_, __, ___, top) => [0, top / 2, top],
        values: (_, at) => at.map(plot.write),
      },
    ],
    series: [
      {},
      ...plot.lines.map(
        (line): uPlot.Series => ({
          stroke: inks(line.ink),
          width: 1.5,
          dash: line.dash,
          points: {
            size: 4,
            fill: inks(line.ink),
            filter: (self, series) => alone(self.data[series] as (number | null)[]),
          },
        }),
      ),
    ],
    hooks: {
      drawClear: [(self) => ground(self, gaps(), inks("--raised"))],
      draw: [(self) => limit(self, plot.most, inks("--border"))],
      setCursor: [(self) => point(self.cursor.idx ?? null)],
    },
  };
}

/** A ground of its own where nothing was sampled. */
function ground(self: uPlot, gaps: ReturnType<typeof gapsOf>, ink: string): void {
  const { ctx, bbox, data } = self;
  const [steps] = data;
  const step = (steps[1] ?? 0) - (steps[0] ?? 0);
  ctx.save();
  ctx.fillStyle = ink;
  for (const { first, last } of gaps) {
    const left = Math.max(bbox.left, self.valToPos((steps[first] ?? 0) - step, "x", true));
    const right = Math.min(bbox.left + bbox.width, self.valToPos((steps[last] ?? 0) + step, "x", true));
    ctx.fillRect(left, bbox.top, right - left, bbox.height);
  }
  ctx.restore();
}

/** A line at what should not be passed. */
function limit(self: uPlot, most: number | undefined, ink: string): void {
  if (most === undefined) return;
  const { ctx, bbox } = self;
  const y = self.valToPos(most, "y", true);
  ctx.save();
  ctx.strokeStyle = ink;
  ctx.setLineDash([2, 4]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.restore();
}

/** Times of day, and days where the axis is longer than one. */
function axisWords(at: number, all: number[], zone: Zone): string {
  const isLong = (all.at(-1) ?? 0) - (all[0] ?? 0) > 86_400;
  const parts = isLong
    ? ({ day: "numeric", month: "short" } as const)
    : ({ hour: "2-digit", minute: "2-digit" } as const);
  const timeZone = zone === "utc" ? "UTC" : undefined;
  return new Intl.DateTimeFormat("en-GB", { ...parts, timeZone }).format(new Date(at * 1000));
}

function momentWords(at: number, zone: Zone): string {
  const moment = new Date(at * 1000);
  return `${axisWords(at, [0, at], zone)}, ${clock(moment, zone).slice(0, 5)}${zone === "utc" ? " UTC" : ""}`;
}

/** Colours of the theme that is shown: a canvas knows no custom properties, so it is drawn anew when the theme changes. */
function useInks(): Inks {
  const theme = useShownTheme();
  return useMemo(() => {
    void theme;
    const style = getComputedStyle(document.documentElement);
    return (name) => style.getPropertyValue(name).trim();
  }, [theme]);
}
