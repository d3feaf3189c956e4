/** Checks the references of documents and comments: files, headings, sections of the contract and specification. */
import fs from 'node:fs';
import path from 'node:path';

type Reference = {
  /** The file with the reference. */
  file: string;
  line: number;
  /** Relative to the project, perhaps with a heading: docs/operating.md#metrics. */
  target: string;
};
/** By their names, relative to the project. */
type Texts = ReadonlyMap<string, string>;

const documents = ['*.md', 'docs/**/*.md'];
const sources = [
  '*.{js,json,cjs,yml}',
  '{src,test,bench,examples}/**/*.{ts,js,json,graphql,html}',
  'sql/*.sql',
  'deploy/**/*.*',
  'deploy/calendar-changed',
];
/** Files that are not checked; the test of this check plants violations. */
const notRead = /^package-lock\.json$|\/generated\/|^test\/house\/documents\.test\.ts$/;
const mostLines = { readme: 220, page: 250 };

function read(project: string, patterns: readonly string[]): Texts {
  const files = fs.globSync(patterns, { cwd: project }).filter((file) => !notRead.test(file));
  return new Map(files.map((file) => [file, fs.readFileSync(path.join(project, file), 'utf8')]));
}

const blank = (text: string) => text.replace(/[^\n]/g, ' ');
const withoutBlocks = (text: string) => text.replace(/^( *)(```+)[^\n]*\n.*?^ *\2 *$/gms, blank);
const withoutCode = (text: string) => withoutBlocks(text).replace(/`[^`\n]*`/g, blank);

const headings = (text: string) => [...withoutBlocks(text).matchAll(/^#{1,6} +(.+)$/gm)].map(([, title = '']) => title);

/** The anchors of a page, made as GitHub makes them. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const title of headings(text)) {
    const words = title.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const slug = words.replace(/[^\p{L}\p{N}\p{M}\s_-]/gu, '').replaceAll(' ', '-');
    let anchor = slug;
    for (let n = 1; anchors.has(anchor); n++) anchor = `${slug}-${n}`;
    anchors.add(anchor);
  }
  return anchors;
}

/** The matches of a pattern's first group in a text. */
const findIn = (file: string, text: string, pattern: RegExp): Reference[] =>
  [...text.matchAll(pattern)].map(({ 1: target = '', index }) => ({
    file,
    line: text.slice(0, index).split('\n').length,
    target,
  }));

const link = /(?:\]\(\s*|^\[[^\]]+\]:\s*|\b(?:src|href)=")([^)\s"]+)/gm;
/** Paths of our files, such as `src/main.ts`; a path that continues with a placeholder is none. */
const ownPath = /(?<![\w./-]|\]\()((?:src|test|sql|docs|bench|deploy|examples)\/[\w./*-]*[\w*/])(?![\w…<{])/g;
const ownPage = /(?<![\w./-])((?:docs\/[\w./-]+|[A-Z]{6,})\.(?:md|svg)(?:#[\w-]+)?)/g;

/** The links of a page, except those to other sites. */
const linksOf = (file: string, text: string): Reference[] =>
  findIn(file, withoutCode(text), link)
    .filter(({ target }) => !/^[a-z]+:/i.test(target))
    .map((found) => {
      const [to = '', ...anchor] = found.target.split('#');
      const target = to === '' ? file : path.join(path.dirname(file), decodeURI(to));
      return { ...found, target: [target, ...anchor].join('#') };
    });

function isThere(project: string, pages: Texts, target: string): boolean {
  const [file = '', anchor] = target.split('#');
  if (fs.globSync(file, { cwd: project }).length === 0) return false;
  return anchor === undefined || anchorsOf(pages.get(file) ?? '').has(anchor);
}

const number = String.raw`\d+(?:\.\d+)*`;
const citation = new RegExp(
  String.raw`\b(?:contract|specification)(?:'s)?,? (?:sections? )?${number}(?:(?:,| and|, and)(?: contract| specification)? ${number})*`,
  'gi',
);
const citedParts = new RegExp(`contract|specification|${number}`, 'gi');

/** Citations of missing sections, such as "contract 4.2" and "specification 2.6 and 5". */
function findWrongCitations(texts: Texts, sections: Record<string, ReadonlySet<string>>): string[] {
  const found: string[] = [];
  // A comment may break its lines within a citation.
  for (const [file, text] of texts)
    for (const [cited] of text.replace(/\n *(?:\*|\/\/) /g, ' ').matchAll(citation)) {
      let source = '';
      for (const [part] of cited.toLowerCase().matchAll(citedParts))
        if (part in sections) source = part;
        else if (!sections[source]?.has(part))
          found.push(`${file}: cites ${source} ${part}, which docs/ does not have ("${cited}")`);
    }
  return found;
}

/** The numbers at the head of headings: `4.2` of `### 4.2 Accepting`. */
const sectionsOf = (pages: Texts, place: RegExp) =>
  new Set(
    [...pages]
      .filter(([file]) => place.test(file))
      .flatMap(([, text]) => headings(text))
      .flatMap((title) => new RegExp(`^(${number}) `).exec(title)?.[1] ?? []),
  );

/** One line for each dead reference, and for each page that is too long or that no other page links to. */
export function findDocumentFaults(project: string): string[] {
  const pages = read(project, documents);
  const texts = new Map([...pages, ...read(project, sources)]);
  const links = [...pages].flatMap(([file, text]) => linksOf(file, text));
  const linked = new Set(
    links.filter(({ file, target }) => !target.startsWith(file)).map(({ target }) => target.split('#')[0]),
  );
  const references = [
    ...links,
    ...[...pages].flatMap(([file, text]) => findIn(file, text, ownPath)),
    ...[...texts].flatMap(([file, text]) => (pages.has(file) ? [] : findIn(file, text, ownPage))),
  ];
  return [
    ...references
      .filter(({ target }) => !isThere(project, pages, target))
      .map(({ file, line, target }) => `${file}:${line}: there is no ${target}`),
    ...findWrongCitations(texts, {
      contract: sectionsOf(pages, /^docs\/contract\//),
      specification: sectionsOf(pages, /^docs\/specification\.md$/),
    }),
    ...[...pages].flatMap(([file, text]) => {
      const lines = text.split('\n').length - 1;
      const most = file === 'README.md' ? mostLines.readme : mostLines.page;
      return lines > most ? `${file}: has ${lines} lines; ${most} are allowed, so split it by subject` : [];
    }),
    ...[...pages.keys()]
      .filter((file) => file !== 'README.md' && !linked.has(file))
      .map((file) => `${file}: no other page links to it`),
  ];
}
