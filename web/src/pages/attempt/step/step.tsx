import { lazy, memo, Suspense } from "react";
import { download } from "../../../api/files";
import type { ObservationResult, StepDocument, ToolCall } from "../../../api/schema";
import { count, counted, duration, tokens } from "../../../design/numbers";
import { Button } from "../../../parts/button";
import { More } from "../../../parts/more";
import { editOf } from "../edits";
import type { Steps } from "../steps";
import { Output } from "./output";
import styles from "./step.module.css";

/** Asked for at once: a message that is laid out after it was shown moves what is below it. */
const markdown = import("./markdown");
markdown.catch(() => undefined); // whoever shows a message says so
const Markdown = lazy(() => markdown);
const Changes = lazy(() => import("./changes"));
/** A longer message is shown as the text it is: nobody reads it laid out, and it takes long. */
const LONGEST_MARKDOWN = 30_000;
const LONGEST_ARGUMENT = 2000;

export interface StepProps {
  attempt: string;
  number: number;
  body: StepDocument | undefined;
  steps: Steps;
  isCurrent: boolean;
  isExpanded: boolean;
  expand: (step: number) => void;
  choose: (step: number) => void;
}

/** One step: who said or did what, and what came of it. All of it is a stranger's text. */
export const StepRow = memo(function StepRow(props: StepProps) {
  const { number, body, steps, isCurrent, choose } = props;
  const failed = steps.failed.includes(number);
  return (
    <article className={styles.step} aria-current={isCurrent ? "step" : undefined} aria-label={`Step ${number}`}>
      <header className={styles.head}>
        <button type="button" className={styles.number} onClick={() => choose(number)} title="Link to this step">
          #{count(number)}
        </button>
        <span>{WHO[steps.kinds[number - 1] ?? "m"]}</span>
        {failed && <span className={styles.failed}>✕ failed</span>}
        <Facts number={number} steps={steps} body={body} />
      </header>
      {body ? <Body {...props} body={body} failed={failed} /> : <div className={styles.bone} />}
    </article>
  );
});

const WHO: Record<string, string> = { s: "system", u: "instruction", m: "agent", c: "agent" };

function Facts({ number, steps, body }: { number: number; steps: Steps; body: StepDocument | undefined }) {
  const at = steps.secondsAt(number);
  const next = steps.secondsAt(number + 1);
  const [read, written] = [steps.inputOf(number), steps.outputOf(number)];
  const model = body?.step.model_name;
  return (
    <span className={styles.facts}>
      {at !== null && <span title="Since the first step">+{duration(at)}</span>}
      {at !== null && next !== null && next >= at && <span title="Until the next step">{duration(next - at)}</span>}
      {(read !== null || written !== null) && (
        <span title={`tokens: ${read ?? "—"} in, ${written ?? "—"} out`}>
          in {tokens(read)} · out {tokens(written)}
        </span>
      )}
      {model && <span>{model}</span>}
    </span>
  );
}

function Body({
  attempt,
  number,
  body,
  failed,
  isExpanded,
  expand,
}: StepProps & { body: StepDocument; failed: boolean }) {
  const { step, cut } = body;
  const calls = step.tool_calls ?? [];
  const results = step.observation?.results ?? [];
  const loose = results.filter((one) => !calls.some((call) => call.tool_call_id === one.source_call_id));
  const open = () => expand(number);
  const message = textOf(step.message);
  return (
    <div className={styles.body}>
      {step.reasoning_content && (
        <details className={styles.thought}>
          <summary>thought, {counted(step.reasoning_content.length, "character")}</summary>
          <p>{step.reasoning_content}</p>
        </details>
      )}
      {message.trim() && <Message text={message} />}
      {calls.map((call) => (
        <Call key={call.tool_call_id} call={call} expanded={isExpanded} expand={open}>
          {results
            .filter((one) => one.source_call_id === call.tool_call_id)
            .map((result, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: results have no other name
              <Result key={at} result={result} failed={failed} expanded={isExpanded} expand={open} />
            ))}
        </Call>
      ))}
      {loose.map((result, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: results have no other name
        <Result key={at} result={result} failed={failed} expanded={isExpanded} expand={open} />
      ))}
      {cut > 0 && (
        <p className={styles.cut}>
          {counted(cut, "character")} left out{" "}
          <Button onClick={() => download(`/api/v1/attempts/${attempt}/steps/${number}`, `step-${number}.json`)}>
            Open file
          </Button>
        </p>
      )}
    </div>
  );
}

function Message({ text }: { text: string }) {
  const plain = <p className={styles.plain}>{text}</p>;
  return text.length > LONGEST_MARKDOWN ? (
    plain
  ) : (
    <Suspense fallback={plain}>
      <Markdown text={text} />
    </Suspense>
  );
}

interface Opens {
  expanded: boolean;
  expand: () => void;
}

function Call({ call, expanded, expand, children }: Opens & { call: ToolCall; children: React.ReactNode }) {
  const given = call.arguments as Record<string, unknown>;
  const edit = editOf(given);
  return (
    <div className={styles.call}>
      <p className={styles.tool}>
        <b>{call.function_name}</b> {edit ? null : <Given given={given} expanded={expanded} expand={expand} />}
      </p>
      {edit && (
        <Suspense fallback={<div className={styles.bone} />}>
          <Changes edit={edit} expanded={expanded} expand={expand} />
        </Suspense>
      )}
      {children}
    </div>
  );
}

function Given({ given, expanded, expand }: Opens & { given: Record<string, unknown> }) {
  const entries = Object.entries(given);
  const isAlone = entries.length === 1;
  const text = entries
    .map(([name, value]) => {
      const said = typeof value === "string" ? value : JSON.stringify(value);
      return isAlone ? said : `${name}: ${said}`;
    })
    .join("\n");
  const isLong = text.length > LONGEST_ARGUMENT && !expanded;
  return (
    <>
      <code className={styles.given}>{isLong ? `${text.slice(0, LONGEST_ARGUMENT)} …` : text}</code>
      {isLong && <More expand={expand}>all {counted(text.length, "character")} (.)</More>}
    </>
  );
}

function Result({ result, failed, expanded, expand }: Opens & { result: ObservationResult; failed: boolean }) {
  return <Output text={textOf(result.content)} failed={failed} expanded={expanded} expand={expand} />;
}

type Content = ObservationResult["content"];

/** The text of a message or a result; a picture or a sound is named. */
export function textOf(content: Content): string {
  if (content == null) return "";
  if (typeof content === "string") return content;
  return content.map((part) => part.text ?? `[${part.type}: ${part.source?.path ?? ""}]`).join("\n");
}
