/** Writes megabytes of JSON piece by piece, as one call would block the event loop. */
import type { ServerResponse } from 'node:http';

type NameOf = (name: string) => string;
const asItIs: NameOf = (name) => name;

/** A member of each item as it is written: its name, and which member of the record it is, or the text that it is in all of them. */
export type WrittenMember = { name: string } & ({ of: string } | { text: string });

/** Writes a list as JSON in ASCII, with the given members of its items. */
type ListText = {
  length(members: readonly WrittenMember[]): number;
  write(members: readonly WrittenMember[], text: Buffer): void;
  /** Gives back the memory of the list, which nobody reads any more. */
  giveBack?(): void;
};

/**
 * A list that writes its own JSON, which takes a fraction of the memory and time that an object per item does. Otherwise it is an
 * ordinary list of records, which are created when they are read.
 */
export class TextList<Item extends object = object> implements Iterable<Item> {
  readonly #members: readonly WrittenMember[];
  readonly #items: () => readonly Item[];
  readonly #text: ListText;

  /** @param members of each item, in order */
  constructor(members: readonly WrittenMember[], items: () => readonly Item[], text: ListText) {
    this.#members = members;
    this.#items = items;
    this.#text = text;
  }

  [Symbol.iterator](): Iterator<Item> {
    return this.#items()[Symbol.iterator]();
  }

  toJSON(): unknown {
    const text = Buffer.alloc(this.length);
    this.write(text);
    return JSON.parse(text.toString());
  }

  renamed(nameOf: NameOf): TextList<Item> {
    const members = this.#members.map((member) => ({ ...member, name: nameOf(member.name) }));
    return new TextList(members, this.#items, this.#text);
  }

  /**
   * The same list with other members, in their order.
   * @param selected each is one of its members by its name, or a text
   * @returns undefined if it has not all of them
   */
  selecting(selected: readonly WrittenMember[]): TextList<Item> | undefined {
    const members: WrittenMember[] = [];
    for (const one of selected) {
      const own = 'of' in one ? this.#members.find(({ name }) => name === one.of) : one;
      if (!own) return undefined;
      members.push({ ...own, name: one.name });
    }
    return new TextList(members, this.#items, this.#text);
  }

  /** The number of bytes that `write` writes. */
  get length(): number {
    return this.#text.length(this.#members);
  }

  /** @param text a buffer of `length` bytes */
  write(text: Buffer): void {
    this.#text.write(this.#members, text);
  }

  /** Gives back its memory, and that of the lists that were made with it: they must not be read any more. */
  giveBack(): void {
    this.#text.giveBack?.();
  }
}

/** An answer to write in pieces. */
export class LargeJson {
  readonly value: object;
  /** Gives back the memory of its lists. Call it once the answer has been written, or is not going to be. */
  readonly giveBack: () => void;

  constructor(value: object, giveBack = () => {}) {
    this.value = value;
    this.giveBack = giveBack;
  }

  toJSON(): object {
    return this.value;
  }
}

/** GraphQL's own executor makes objects without a prototype. */
function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

type Piece = Buffer | TextList;

/**
 * The pieces of the JSON of an answer.
 * @param nameOf renames the members
 */
export function jsonPieces({ value }: LargeJson, nameOf: NameOf = asItIs): Piece[] {
  const pieces: Piece[] = [];
  const names = new Map<string, string>();
  let text = '';
  function nameText(name: string): string {
    let written = names.get(name);
    if (written === undefined) names.set(name, (written = `${JSON.stringify(nameOf(name))}:`));
    return written;
  }
  function add(value: unknown): void {
    if (value instanceof TextList) {
      pieces.push(Buffer.from(text), nameOf === asItIs ? value : value.renamed(nameOf));
      text = '';
    } else if (Array.isArray(value)) {
      text += '[';
      for (let at = 0; at < value.length; at++) {
        if (at > 0) text += ',';
        add(value[at]);
      }
      text += ']';
    } else if (isPlain(value)) {
      let before = '{';
      for (const name of Object.keys(value)) {
        const member = value[name];
        if (member === undefined) continue;
        text += before + nameText(name);
        add(member);
        before = ',';
      }
      text += before === '{' ? '{}' : '}';
    } else text += JSON.stringify(value) ?? 'null';
  }
  add(value);
  pieces.push(Buffer.from(text));
  return pieces;
}

const chunkLength = 131_072;
/** The most chunks that are kept for reuse: as many as a few answers need while they are sent. */
const mostKept = 64;

/** The chunks in which a process writes answers. They are reused: allocating and collecting them would take longer than filling them. */
export function openChunks() {
  const kept: Buffer[] = [];
  return {
    /** A chunk of at least `length` bytes, with undefined content. */
    take: (length: number): Buffer =>
      length <= chunkLength ? (kept.pop() ?? Buffer.allocUnsafeSlow(chunkLength)) : Buffer.allocUnsafeSlow(length),
    /** Returns a chunk that nobody reads any more. */
    giveBack(chunk: Buffer): void {
      if (chunk.length === chunkLength && kept.length < mostKept) kept.push(chunk);
    },
  };
}

export type Chunks = ReturnType<typeof openChunks>;

/**
 * Sends pieces at the pace of the reader, so that an answer takes only the memory of a few chunks.
 * @param pause awaited between two pieces
 */
export async function sendPieces(
  response: ServerResponse,
  pieces: readonly Piece[],
  chunks: Chunks,
  pause: () => Promise<void> | undefined,
): Promise<void> {
  response.setHeader(
    'Content-Length',
    pieces.reduce((sum, { length }) => sum + length, 0),
  );
  // Node.js would discard the body only after it was written.
  if (response.req.method === 'HEAD') {
    response.end();
    return;
  }
  let goOn = () => {};
  response.on('drain', () => goOn()).once('close', () => goOn());
  let chunk = chunks.take(0);
  let used = 0;

  async function send(): Promise<void> {
    const sent = chunk;
    // A chunk whose write failed may still be in use: it is left to the garbage collector.
    const isTaken = response.write(sent.subarray(0, used), (error) => {
      if (!error) chunks.giveBack(sent);
    });
    if (!isTaken && !response.destroyed)
      await new Promise<void>((resolve) => {
        goOn = resolve;
      });
  }
  for (const piece of pieces) {
    const { length } = piece;
    if (used + length > chunk.length) {
      await send();
      chunk = chunks.take(length);
      used = 0;
    }
    const place = chunk.subarray(used, used + length);
    if (piece instanceof TextList) piece.write(place);
    else piece.copy(place);
    used += length;
    const paused = pause();
    if (paused !== undefined) await paused;
    // The reader has gone.
    if (response.destroyed) return;
  }
  await send();
  response.end();
}
