/**
 * A file on its way into the timetable: dropped, checked, corrected, imported. The file and its corrections outlive the page, and
 * a batch that was sent is found again by its id.
 */

import { useEffect, useRef, useState } from 'preact/hooks';
import { randomKey } from '../../random-key.ts';
import { go, place } from '../address.ts';
import { ask, lostSince, type Refusal, Refused } from '../client.ts';
import { LocationsDocument } from '../generated/graphql.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { type Component, h, html } from '../parts/html.ts';
import { RefusedBox } from '../parts/refused.ts';
import { announce, toast } from '../parts/toast.ts';
import type { Location } from '../rooms/store.ts';
import { t as files } from '../texts/timetable-files.ts';
import { hasEnded, Progress, stateText } from './batch.ts';
import { rememberMapping } from './columns.ts';
import { type Draft, forgetDraft, isCurrent, keepFiles, keepWork, readKept, type Work } from './draft.ts';
import { Grid } from './grid.ts';
import { most, readDropped, reopen, Unreadable } from './intake.ts';
import { rememberReading, wrongLists } from './reading.ts';
import { writeRequest } from './request.ts';
import { Result, readRefused, readResult } from './result.ts';
import { sendJobs } from './send.ts';
import { Settings } from './settings.ts';
import { CancelButton, useBatch } from './story.ts';

type EditorProperties = {
  draft: Draft;
  locations: readonly Location[];
  change: (change: Partial<Work>) => Promise<void>;
  onGone: () => void;
};

const Editor: Component<EditorProperties> = ({ draft, locations, change, onGone }) => {
  const { sheets, work } = draft;
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
        toast(files().imported);
        onGone();
        go({ file: undefined, sent: undefined, batch: batch.id }, 'replace');
        return;
      }
      await change(await readResult(draft, batch));
      announce(batch.importStatus === 'LessonsCreated' ? files().right : stateText(batch));
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
    const key = before && isCurrent(work, before) && before.isCheck === isCheck ? before.key : randomKey();
    const { version } = work;
    // Stored first, so that every further attempt makes the same batch.
    await change({ sending: { isCheck, version, key } });
    if (draft.format === 'Csv') rememberMapping(sheets[0]?.headers ?? [], work.mapping);
    if (draft.format !== 'Json') rememberReading(work.reading);
    const { path, body } = await writeRequest(draft, location, isCheck);
    const { batchId, leftOut, refused } = await sendJobs(path, body, key);
    if (batchId) {
      const sent = { isCheck, version };
      await change({ sent: { ...sent, batchId }, leftOut: { ...sent, ...leftOut }, sending: undefined });
      go({ sent: batchId }, 'replace');
    }
    const found = refused && (await readRefused(draft, refused, { isCheck, version }));
    if (found) await change(found);
    else setRefusal(refused);
    setSending(false);
  }
  const correct = (sheet: number, row: number, column: number, text: string) =>
    void change({
      corrected: { ...work.corrected, [`${sheet} ${row} ${column}`]: text },
      version: work.version + 1,
      faults: work.faults.filter(
        (fault) => fault.sheet !== sheet || fault.row !== row || (fault.column !== column && fault.column >= 0),
      ),
      touched: [...new Set([...work.touched, `${sheet} ${row}`])],
    });
  const discard = async () => {
    await forgetDraft();
    announce(files().discarded);
    onGone();
    go({ sent: undefined }, 'replace');
  };
  const name = draft.files.map((file) => file.name).join(', ');
  const rowCount = sheets.reduce((sum, { rows }) => sum + rows.length, 0);
  const wrong = wrongLists(work.reading).map(({ name, line }) => files().lineOf(files().how[name] ?? name, line));
  const isReadable = wrong.length === 0;
  const mayImport = work.result?.isRight && isCurrent(work, work.result);
  const wasSending = work.sending && isCurrent(work, work.sending) && !underWay && !isSending;
  return html`
    <section class="panel" aria-label=${name}>
      <h2>${name}</h2>
      <p>${files().readAs(files().formats[draft.format], rowCount)}</p>
      ${h(RefusedBox, { refusal: refusal ?? asked.refusal })}
      ${wasSending && html`<p class="notice">${files().wasSending}</p>`}
      ${isSending && html`<p aria-busy="true">${files().preparing}</p>`}
      ${underWay && batch?.id === underWay && !hasEnded(batch) && h(Progress, { batch })}
      ${!isLocked && h(Result, { draft, timeZone: location?.timeZone ?? 'UTC', batch, asked })}
      ${!isReadable && html`<p class="notice" id="not-understood">${files().notUnderstood(wrong)}</p>`}
      <div class="buttons">
        <button type="button" aria-describedby=${isReadable ? undefined : 'not-understood'} class=${mayImport || isLocked || !isReadable ? '' : 'main'} disabled=${isLocked || !isReadable} onClick=${() => void send(true)}>${files().check}</button>
        <button type="button" aria-describedby=${isReadable ? undefined : 'not-understood'} class=${mayImport ? 'main' : ''} disabled=${isLocked || !(mayImport || (wasSending && !work.sending?.isCheck))} onClick=${() => void send(false)}>${files().import}</button>
        ${!isLocked && html`<button type="button" onClick=${() => void discard()}>${files().discard}</button>`}
        ${underWay && h(CancelButton, { id: underWay })}
      </div>
    </section>
    ${h(Settings, { draft, locations, isLocked, isRefused: refusal !== undefined, onChange: (changed) => void change({ ...changed, version: work.version + 1, faults: [], touched: [] }) })}
    ${h(Grid, { draft, timeZone: location?.timeZone ?? 'UTC', isLocked, onCorrect: correct })}
  `;
};

function Drop({ onFiles, refused }: { onFiles: (files: readonly File[]) => void; refused: string | undefined }) {
  const [isOver, setOver] = useState(false);
  const over = (event: DragEvent) => {
    event.preventDefault();
    setOver(true);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length > 0) onFiles(files);
  };
  const choose = (event: Event) => {
    const files = [...((event.currentTarget as HTMLInputElement).files ?? [])];
    if (files.length > 0) onFiles(files);
  };
  return html`
    <div class="drop ${isOver ? 'over' : ''}" onDragOver=${over} onDragLeave=${() => setOver(false)} onDrop=${drop}>
      <p>${files().drop}</p>
      <p class="hint">${files().limits(Math.floor(most.bytes / 1_048_576), most.rows, most.files)}</p>
      <label class="button">${files().choose}<input type="file" class="unseen" multiple accept=".csv,.tsv,.txt,.dif,.ics,.json" onChange=${choose} /></label>
      ${refused && html`<p class="refused" role="alert">${refused}</p>`}
    </div>
  `;
}

/** Undefined while it is read; null for none. */
type HeldDraft = Draft | null | undefined;

const Held: Component<{ locations: readonly Location[] }> = ({ locations }) => {
  const [draft, setDraft] = useState<HeldDraft>();
  const [unreadable, setUnreadable] = useState<string>();
  const [isReading, setReading] = useState(false);
  const [isKept, setKept] = useState(true);
  const latest = useRef<HeldDraft>(undefined);
  const show = (next: HeldDraft) => {
    latest.current = next;
    setDraft(next);
  };
  useEffect(() => {
    const open = async () => {
      const found = await readKept();
      const { sent } = place.value;
      // The address names a batch that was sent just before the page was left.
      if (found?.work.sending && sent && !found.work.sent) {
        const { isCheck, version } = found.work.sending;
        found.work.sent = { isCheck, version, batchId: sent };
      }
      show(found ? await reopen(found).catch(() => null) : null);
    };
    void open();
  }, []);
  async function take(dropped: readonly File[]): Promise<void> {
    setUnreadable(undefined);
    setReading(true);
    try {
      const read = await readDropped(dropped, locations[0]?.id ?? '');
      const areFilesKept = await keepFiles(read.files);
      setKept(areFilesKept && (await keepWork(read.work)));
      show(read);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      setUnreadable(
        error.reason === 'noText'
          ? error.detail
          : files().unreadable[error.reason](Math.floor(most.bytes / 1_048_576), most.rows),
      );
    }
    setReading(false);
  }
  async function change(changed: Partial<Work>): Promise<void> {
    if (!latest.current) return;
    const next = { ...latest.current, work: { ...latest.current.work, ...changed } };
    show(next);
    setKept(await keepWork(next.work));
  }
  if (isReading || draft === undefined) return html`<p class="state" aria-busy="true">${files().readingFile}</p>`;
  if (draft === null) return h(Drop, { onFiles: (files) => void take(files), refused: unreadable });
  return html`
    <p>${isKept ? files().kept : files().notKept}</p>
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
