/** Reads the text of a file that somebody chose, as the server reads files: in the same encodings, with the same refusals. */
import { decode, findEncoding, type ReadBytes } from '../../../timetable-files/text.ts';
import { openSlices } from './slices.ts';

const piece = 65_536;

/** The bytes of a file, in pieces. */
export const bytesOf = (content: Blob): ReadBytes =>
  async function* read() {
    const giveWay = openSlices();
    for (let from = 0; from < content.size; from += piece) {
      yield new Uint8Array(await content.slice(from, from + piece).arrayBuffer());
      await giveWay();
    }
  };

/** @throws BadText */
export async function readText(content: Blob): Promise<string> {
  const read = bytesOf(content);
  const parts: string[] = [];
  for await (const part of decode(read, await findEncoding(read))) parts.push(part);
  return parts.join('');
}
