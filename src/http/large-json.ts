/** Writes megabytes of JSON in pieces, because writing it at once would block the event loop. */
import { chunkLength, pieceOf, type TextPiece } from './pieces.ts';

type NameOf = (name: string) => string;
const asItIs: NameOf = (name) => name;

/** A member of each written item: its name, and the member of the record that it is `of`, or a text for all items. */
export type WrittenMember = { name: string } & ({ of: string } | { text: string });

/** Writes the items of a list as JSON in ASCII, with the given members; each item is as long as every other one. */
export type ListText<Item extends object = object> = {
  /** How many items there are. */
  count: number;
  /** Bytes of an item and the comma after it. */
  itemLength(members: readonly WrittenMember[]): number;
  /** Fills the bytes of a chunk in [from, to) with items, each followed by a comma. @param first the number of the first of them */
  write(members: readonly WrittenMember[], first: number, chunk: Buffer, from: number, to: number): void;
  /** The same items as records. */
  items(): readonly Item[];
  /** Gives back the memory of the list once nobody reads it. */
  giveBack?(): void;
};

const [openBracket, closeBracket] = [0x5b, 0x5d];

/** Some of the items of a list, with its brackets. */
class Items implements TextPiece {
  readonly length: number;
  readonly isText = false;
  readonly #text: ListText;
  readonly #members: readonly WrittenMember[];
  readonly #first: number;
  readonly #isLast: boolean;

  constructor(text: ListText, members: readonly WrittenMember[], first: number, behind: number) {
    this.length = (first === 0 ? 1 : 0) + (behind - first) * text.itemLength(members);
    this.#text = text;
    this.#members = members;
    this.#first = first;
    this.#isLast = behind === text.count;
  }
  write(chunk: Buffer, at: number): void {
    const end = at + this.length;
    const isFirst = this.#first === 0;
    if (isFirst) chunk[at] = openBracket;
    this.#text.write(this.#members, this.#first, chunk, isFirst ? at + 1 : at, end);
    // The bracket replaces the comma after the last item.
    if (this.#isLast) chunk[end - 1] = closeBracket;
  }
}

/**
 * A list that writes its own JSON, which takes a fraction of the memory and time that an object per item does. Otherwise it is an
 * ordinary list of records, which are created when they are read.
 */
export class TextList<Item extends object = object> implements Iterable<Item> {
  /** The members of each item, in order. */
  readonly members: readonly WrittenMember[];
  readonly #text: ListText<Item>;

  constructor(members: readonly WrittenMember[], text: ListText<Item>) {
    this.members = members;
    this.#text = text;
  }

  [Symbol.iterator](): Iterator<Item> {
    return this.#text.items()[Symbol.iterator]();
  }

  /** The same list with other members, which it must have. */
  writing(members: readonly WrittenMember[]): TextList<Item> {
    return new TextList(members, this.#text);
  }

  renamed(nameOf: NameOf): TextList<Item> {
    return this.writing(this.members.map((member) => ({ ...member, name: nameOf(member.name) })));
  }

  /**
   * The same list with other members, in their order.
   * @param selected each is one of its members by its name, or a text
   * @returns undefined if it has not all of them
   */
  selecting(selected: readonly WrittenMember[]): TextList<Item> | undefined {
    const members: WrittenMember[] = [];
    for (const one of selected) {
      const own = 'of' in one ? this.members.find(({ name }) => name === one.of) : one;
      if (!own) return undefined;
      members.push({ ...own, name: one.name });
    }
    return this.writing(members);
  }

  /** Its JSON in pieces of whole items. No piece is longer than a chunk, unless one item is. */
  *pieces(): Generator<TextPiece> {
    const { count } = this.#text;
    if (count === 0) {
      yield pieceOf('[]');
      return;
    }
    const atOnce = Math.max(1, Math.floor((chunkLength - 1) / this.#text.itemLength(this.members)));
    for (let first = 0; first < count; first += atOnce)
      yield new Items(this.#text, this.members, first, Math.min(count, first + atOnce));
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
}

/** GraphQL's own executor makes objects without a prototype. */
function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** The most characters of a text that is not large. */
export const mostAtOnce = 1_048_576;
/** Characters of a piece of a longer text. */
const ofPiece = 65_536;
/** The estimated characters of a value that is not a text, with its punctuation. */
const ofOther = 8;

/** Whether a value must be written in pieces: writing its JSON at once would block the event loop. */
export function isLarge(value: unknown): boolean {
  let left = mostAtOnce;
  function count(one: unknown): void {
    left -= typeof one === 'string' ? one.length : ofOther;
    if (one instanceof LargeJson || one instanceof TextList) left = -1;
    else if (Array.isArray(one)) for (let at = 0; at < one.length && left >= 0; at++) count(one[at]);
    else if (isPlain(one))
      for (const name in one) {
        left -= name.length;
        count(one[name]);
        if (left < 0) return;
      }
  }
  count(value);
  return left < 0;
}

function* writeJson(whole: unknown, nameOf: NameOf): Generator<TextPiece> {
  const names = new Map<string, string>();
  let text = '';
  /** Nearly always the next list has the members of the last one. */
  let renamed: { from: readonly WrittenMember[]; to: readonly WrittenMember[] } | undefined;

  function nameText(name: string): string {
    let written = names.get(name);
    if (written === undefined) names.set(name, (written = `${JSON.stringify(nameOf(name))}:`));
    return written;
  }
  function withNames(list: TextList): TextList {
    if (nameOf === asItIs) return list;
    if (renamed?.from !== list.members) renamed = { from: list.members, to: list.renamed(nameOf).members };
    return list.writing(renamed.to);
  }
  function take(): TextPiece {
    const piece = pieceOf(text);
    text = '';
    return piece;
  }
  function* add(value: unknown): Generator<TextPiece> {
    if (value instanceof LargeJson) yield* add(value.value);
    else if (value instanceof TextList) {
      yield take();
      yield* withNames(value).pieces();
    } else if (Array.isArray(value)) {
      text += '[';
      for (let at = 0; at < value.length; at++) {
        if (at > 0) text += ',';
        yield* add(value[at]);
      }
      text += ']';
    } else if (isPlain(value)) {
      let before = '{';
      for (const name of Object.keys(value)) {
        const member = value[name];
        if (member === undefined) continue;
        text += before + nameText(name);
        // A generator for each value would take longer than the value.
        if (typeof member === 'object') yield* add(member);
        else text += JSON.stringify(member) ?? 'null';
        if (text.length > ofPiece) yield take();
        before = ',';
      }
      text += before === '{' ? '{}' : '}';
    } else text += JSON.stringify(value) ?? 'null';
    if (text.length > ofPiece) yield take();
  }
  yield* add(whole);
  yield take();
}

/**
 * The pieces of the JSON of a value, made again for each iteration.
 * @param nameOf renames the members
 */
export const jsonPieces = (value: unknown, nameOf: NameOf = asItIs): Iterable<TextPiece> => ({
  [Symbol.iterator]: () => writeJson(value, nameOf),
});
