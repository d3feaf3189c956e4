/** Reads the text of a file that somebody chose, as the server reads files: in the same encodings, with the same refusals. */
import { decode, findEncoding } from '../../../timetable-files/text.ts';
import { openSlices } from './slices.ts';

const piece = 65_536;

/** @throws BadText */
export async function readText(content: Blob): Promise<string> {
  const giveWay = openSlices();
  async function* read() {
    for (let from = 0; from < content.size; from += piece) {
      yield new Uint8Array(await content.slice(from, from + piece).arrayBuffer());
      await giveWay();
    }
  }
  const parts: string[] = [];
  for await (const part of decode(read, await findEncoding(read))) parts.push(part);
  return parts.join('');
}
