/**
 * Groups entries by their job without keeping them in memory: the key of an entry selects one of many bins, and a full bin is
 * written to a temporary file. At the end the entries of one bin are read together.
 */
import { createHash } from 'node:crypto';
import { TooLarge } from '../errors.ts';
import { openSlices } from '../flow/slices.ts';
import { openSpool, type Spool } from '../lessons/service.ts';
import type { Log } from '../log.ts';
import type { TimetableEntry } from './entries.ts';

const binCount = 64;
/** The most characters of a bin that are kept in memory. */
const mostKept = 32_768;

type Bin = { texts: string[]; length: number; parts: { at: number; length: number }[] };

export type Bins = {
  /** @throws TooLarge */
  put(key: string, entry: TimetableEntry): Promise<void>;
  /** The entries of each job, bin by bin. */
  jobs(): AsyncGenerator<[key: string, entries: TimetableEntry[]]>;
  close(): Promise<void>;
};

/** @param most characters of all entries together, as JSON */
export function openBins(log: Log, most: number): Bins {
  const bins: Bin[] = Array.from({ length: binCount }, () => ({ texts: [], length: 0, parts: [] }));
  let spool: Promise<Spool> | undefined;
  const nextSlice = openSlices();
  let [written, size] = [0, 0];

  async function spill(bin: Bin): Promise<void> {
    spool ??= openSpool(log);
    const bytes = Buffer.from(bin.texts.join(''));
    [bin.texts, bin.length] = [[], 0];
    bin.parts.push({ at: written, length: bytes.length });
    written += bytes.length;
    await (await spool).append(bytes);
  }
  async function read(bin: Bin): Promise<Map<string, TimetableEntry[]>> {
    const jobs = new Map<string, TimetableEntry[]>();
    const add = async (text: string) => {
      for (const line of text.split('\n')) {
        if (line === '') continue;
        await nextSlice();
        const [key, entry] = JSON.parse(line) as [string, TimetableEntry];
        const entries = jobs.get(key);
        if (entries) entries.push(entry);
        else jobs.set(key, [entry]);
      }
    };
    for (const { at, length } of bin.parts) {
      const bytes = Buffer.allocUnsafe(length);
      await (await spool)?.read(bytes, at);
      await add(bytes.toString());
    }
    await add(bin.texts.join(''));
    return jobs;
  }
  return {
    async put(key, entry) {
      const bin = bins[(createHash('sha1').update(key).digest()[0] as number) % binCount] as Bin;
      const text = `${JSON.stringify([key, entry])}\n`;
      size += text.length;
      if (size > most)
        throw new TooLarge(
          `The files describe lessons in more than ${most} characters; send fewer files, or a shorter term.`,
        );
      bin.texts.push(text);
      bin.length += text.length;
      if (bin.length > mostKept) await spill(bin);
    },
    async *jobs() {
      for (const bin of bins) yield* await read(bin);
    },
    async close() {
      await (await spool)?.close();
    },
  };
}
