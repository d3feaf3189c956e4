/** Spans of statements. They contain the SQL with placeholders, never a value. */
import type { Span } from '@opentelemetry/api';
import type pg from 'pg';
import { beginSpan, endSpan } from '../tracing.ts';

type Callback = (error: unknown, result: unknown) => void;
type Run = (...given: unknown[]) => unknown;

/** The statement, in any form that pg accepts; undefined for objects that read their own answer, such as COPY. */
function textOf(query: unknown): string | undefined {
  if (typeof query === 'string') return query;
  const { text, submit } = (query ?? {}) as { text?: unknown; submit?: unknown };
  return typeof text === 'string' && submit === undefined ? text : undefined;
}

function begin(query: unknown): Span | undefined {
  const text = textOf(query)?.trim();
  if (text === undefined) return undefined;
  const operation = /^\w+/.exec(text)?.[0].toUpperCase() ?? 'SQL';
  return beginSpan(operation, {
    kind: 'CLIENT',
    attributes: { 'db.system.name': 'postgresql', 'db.operation.name': operation, 'db.query.text': text },
  });
}

/** Runs a statement of a connection, in a span if the calling work is traced. */
export function runSpanned(client: pg.Client, run: Run, given: unknown[]): unknown {
  const span = begin(given[0]);
  if (!span) return run.apply(client, given);
  const last = given.at(-1);
  if (typeof last === 'function') {
    const told: Callback = (error, result) => {
      endSpan(span, error ?? undefined);
      (last as Callback)(error, result);
    };
    return run.apply(client, [...given.slice(0, -1), told]);
  }
  const answer = run.apply(client, given);
  if (!(answer instanceof Promise)) return answer;
  answer.then(
    () => endSpan(span),
    (error: unknown) => endSpan(span, error),
  );
  return answer;
}
