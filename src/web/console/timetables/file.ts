/**
 * A file on its way into the timetable: dropped, checked, corrected, imported. Whatever happens to the page, the file and what
 * was corrected are kept, and a batch that was sent is found again by its id.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { go, place } from '../address.ts';
import { ask, lostSince, newKey, type Refusal, Refused, sendJobs } from '../client.ts';
import { LocationsDocument } from '../generated/graphql.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { type Child, type Component, h, html } from '../parts/html.ts';
import { RefusedBox } from '../parts/refused.ts';
import { announce, toast } from '../parts/toast.ts';
import { t } from '../texts/timetables.ts';
import { type Batch, hasEnded, Progress, stateText } from './batch.ts';
import { rememberMapping } from './columns.ts';
import { Difference } from './difference.ts';
import { type Draft, forgetDraft, keepFile, keepWork, type RowFault, readDraft, type Work } from './draft.ts';
import { Grid } from './grid.ts';
import { readDropped, Unreadable } from './intake.ts';
import { type Built, buildJobs, cellAt, dayOf } from './jobs.ts';
import { Settings } from './settings.ts';
import { type BatchError, CancelButton, readErrors, useBatch } from './story.ts';

type Location = { id: string; name: string; timeZone: string };

/** The cell of a fault. A time stands in two columns where the date has one of its own. */
function faultOf(error: BatchError, draft: Draft, { rowOf }: Built): RowFault | undefined {
  const row = error.index === null ? undefined : rowOf(error.index, error.lessonIndex ?? 0);
  if (row === undefined) return undefined;
  const { mapping } = draft.work;
  const isDate =
    error.code === 'InvalidTime' && mapping.date >= 0 && dayOf(cellAt(draft, row, mapping.date).trim()) === undefined;
  const field = isDate ? 'date' : (error.field as keyof typeof mapping);
  return { row, column: mapping[field] ?? -1, code: error.code, message: error.message };
}

const isOf = (work: Work, sent: { version: number } | undefined) => sent?.version === work.version;

/** What came of a batch, in the draft: faults at their cells. @throws Refused */
async function readResult(draft: Draft, batch: Batch, location: Location): Promise<Partial<Work>> {
  const sent = draft.work.sent;
  const isRight = batch.importStatus === 'LessonsCreated';
  const { isCheck = batch.validateOnly, version = draft.work.version } = sent ?? {};
  const faults: RowFault[] = [];
  let omitted = 0;
  if (!isRight && batch.failureKind === 'Data') {
    const built = await buildJobs(draft, location);
    for await (const errors of readErrors(batch.id))
      for (const error of errors) {
        if (error.severity !== 'Error') continue;
        const fault = faultOf(error, draft, built);
        if (fault) faults.push(fault);
      }
    omitted = batch.errorCount - faults.length;
  }
  return {
    faults,
    touched: [],
    sent: undefined,
    sending: undefined,
    result: { batchId: batch.id, isCheck, version, isRight, warnings: batch.warningCount, omitted },
  };
}

const Result: Component<{
  work: Work;
  timeZone: string;
  batch: Batch | undefined;
  asked: ReturnType<typeof useBatch>['asked'];
}> = ({ work, timeZone, batch, asked }) => {
  const { result, faults } = work;
  if (!result) return html`<p role="status">${t().checkFirst}</p>`;
  const isCurrent = isOf(work, result);
  const rows = new Set(faults.map(({ row }) => row)).size;
  const data = asked.data?.id === result.batchId ? asked.data : undefined;
  const said = result.isRight ? t().right : batch && batch.failureKind !== 'Data' ? stateText(batch) : t().wrong(rows);
  return html`
    <p role="status">${result.isRight && !isCurrent ? t().checkFirst : said} ${result.warnings > 0 && html`<small>${t().someWarnings(result.warnings)}</small>`}</p>
    ${result.omitted > 0 && html`<div class="refused"><p>${t().moreFaults(result.omitted)}</p><p>${data?.errorMessages}</p></div>`}
    ${data && !result.isRight && data.failureKind !== 'Data' && html`<p class="refused">${data.errorMessages}</p>`}
    ${isCurrent && data?.difference && h(Difference, { difference: data.difference, timeZone })}
  `;
};

type EditorProperties = {
  draft: Draft;
  locations: readonly Location[];
  change: (change: Partial<Work>) => Promise<void>;
  onGone: () => void;
};

const Editor: Component<EditorProperties> = ({ draft, locations, change, onGone }) => {
  const { file, work } = draft;
  const [isSending, setSending] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();
  const location = locations.find(({ id }) => id === work.locationId) ?? locations[0];
  const underWay = work.sent?.batchId;
  const { asked, batch } = useBatch(underWay ?? work.result?.batchId);
  const isLocked = isSending || underWay !== undefined;
  const isHeard = lostSince.value === undefined;

  useEffect(() => {
    if (!underWay || !location || batch?.id !== underWay || !hasEnded(batch)) return;
    const finish = async () => {
      setRefusal(undefined);
      if (!batch.validateOnly && batch.importStatus === 'LessonsCreated') {
        await forgetDraft();
        toast(t().imported);
        onGone();
        go({ file: undefined, sent: undefined, batch: batch.id }, 'replace');
        return;
      }
      await change(await readResult(draft, batch, location));
      announce(batch.importStatus === 'LessonsCreated' ? t().right : stateText(batch));
    };
    finish().catch((error: unknown) => {
      if (!(error instanceof Refused)) throw error;
      setRefusal(error.refusal);
    });
  }, [underWay, batch?.id, batch?.importStatus, isHeard]);

  async function send(isCheck: boolean): Promise<void> {
    if (!location || isLocked) return;
    setSending(true);
    setRefusal(undefined);
    const before = work.sending;
    const key = before && isOf(work, before) && before.isCheck === isCheck ? before.key : newKey();
    const { version } = work;
    // Written first: whatever happens from here on, sent again it is the same batch.
    await change({ sending: { isCheck, version, key } });
    rememberMapping(file.headers, work.mapping);
    const { body } = await buildJobs(draft, location);
    const path = `api/v2.0/jobs/update?CreateMissing=true${isCheck ? '&ValidateOnly=true' : ''}`;
    const { batchId, refused } = await sendJobs(path, body, key);
    if (batchId) {
      await change({ sent: { isCheck, version, batchId }, sending: undefined });
      go({ sent: batchId }, 'replace');
    }
    setRefusal(refused);
    setSending(false);
  }
  const correct = (row: number, column: number, text: string) =>
    void change({
      corrected: { ...work.corrected, [`${row} ${column}`]: text },
      version: work.version + 1,
      faults: work.faults.filter((fault) => fault.row !== row || (fault.column !== column && fault.column >= 0)),
      touched: [...new Set([...work.touched, row])],
    });
  const discard = async () => {
    await forgetDraft();
    announce(t().discarded);
    onGone();
    go({ sent: undefined }, 'replace');
  };
  const mayImport = work.result?.isRight && isOf(work, work.result);
  const wasSending = work.sending && isOf(work, work.sending) && !underWay && !isSending;
  return html`
    <section class="panel" aria-label=${file.name}>
      <h2>${file.name}</h2>
      ${h(RefusedBox, { refusal: refusal ?? asked.refusal })}
      ${wasSending && html`<p class="notice">${t().wasSending}</p>`}
      ${isSending && html`<p aria-busy="true">${t().preparing}</p>`}
      ${underWay && batch?.id === underWay && !hasEnded(batch) && h(Progress, { batch })}
      ${!isLocked && h(Result, { work, timeZone: location?.timeZone ?? 'UTC', batch, asked })}
      <div class="buttons">
        <button type="button" class=${mayImport || isLocked ? '' : 'main'} disabled=${isLocked} onClick=${() => void send(true)}>${t().check}</button>
        <button type="button" class=${mayImport ? 'main' : ''} disabled=${isLocked || !(mayImport || (wasSending && !work.sending?.isCheck))} onClick=${() => void send(false)}>${t().import}</button>
        ${!isLocked && html`<button type="button" onClick=${() => void discard()}>${t().discard}</button>`}
        ${underWay && h(CancelButton, { id: underWay })}
      </div>
    </section>
    ${h(Settings, { draft, locations, isLocked, onChange: (changed) => void change({ ...changed, version: work.version + 1, faults: [], touched: [] }) })}
    ${h(Grid, { draft, isLocked, onCorrect: correct })}
  `;
};

function Drop({ onFile, refused }: { onFile: (file: File) => void; refused: string | undefined }): Child {
  const [isOver, setOver] = useState(false);
  const over = (event: DragEvent) => {
    event.preventDefault();
    setOver(true);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const [file] = event.dataTransfer?.files ?? [];
    if (file) onFile(file);
  };
  const choose = (event: Event) => {
    const [file] = (event.currentTarget as HTMLInputElement).files ?? [];
    if (file) onFile(file);
  };
  return html`
    <div class="drop ${isOver ? 'over' : ''}" onDragOver=${over} onDragLeave=${() => setOver(false)} onDrop=${drop}>
      <p>${t().drop}</p>
      <label class="button">${t().choose}<input type="file" class="unseen" accept=".csv,.tsv,.txt,.json" onChange=${choose} /></label>
      ${refused && html`<p class="refused" role="alert">${refused}</p>`}
    </div>
  `;
}

/** Undefined: being read. Null: none. */
type Held = Draft | null | undefined;

const Held: Component<{ locations: readonly Location[] }> = ({ locations }) => {
  const [draft, setDraft] = useState<Held>();
  const [unreadable, setUnreadable] = useState<string>();
  const [isReading, setReading] = useState(false);
  const [isKept, setKept] = useState(true);
  const latest = useRef<Held>(undefined);
  const show = (next: Held) => {
    latest.current = next;
    setDraft(next);
  };
  useEffect(() => {
    void readDraft().then((found) => {
      const { sent } = place.value;
      // The address knows a batch that was sent just before the page went.
      if (found?.work.sending && sent && !found.work.sent) {
        const { isCheck, version } = found.work.sending;
        found.work.sent = { isCheck, version, batchId: sent };
      }
      show(found ?? null);
    });
  }, []);
  async function take(file: File): Promise<void> {
    setUnreadable(undefined);
    setReading(true);
    try {
      const read = await readDropped(file, locations[0]?.id ?? '');
      const isFileKept = await keepFile(read.file);
      setKept(isFileKept && (await keepWork(read.work)));
      show(read);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      setUnreadable(t().unreadable[error.reason]);
    }
    setReading(false);
  }
  async function change(changed: Partial<Work>): Promise<void> {
    if (!latest.current) return;
    const next = { ...latest.current, work: { ...latest.current.work, ...changed } };
    show(next);
    setKept(await keepWork(next.work));
  }
  if (isReading || draft === undefined) return html`<p class="state" aria-busy="true">${t().readingFile}</p>`;
  if (draft === null)
    return Drop({ onFile: (file) => void take(file), refused: unreadable }) as ReturnType<typeof html>;
  return html`
    <p>${isKept ? t().kept : t().notKept}</p>
    ${h(Editor, { draft, locations, change, onGone: () => show(null) })}
  `;
};

export const FileScreen: Component<object> = () => {
  const asked = useAsked(async (stop) => {
    const { locations } = await ask(LocationsDocument, {}, stop);
    return (locations ?? []).filter(({ active }) => active);
  }, []);
  return html`${showAsked(asked, (locations) => h(Held, { locations }))}`;
};
