/** Removes what browsers do not need from the scripts and styles of door signs. */
import { stripTypes } from './modules.ts';

export const withoutIndents = (text: string) => text.replace(/^\s+/gm, '');

/** Strings, and templates whose values have neither templates nor braces of their own. */
const literals = /'[^'\\]*'|"[^"\\]*"|`(?:[^`\\$]|\$(?!\{)|\$\{[^`{}]*\})*`/g;

/** Removes spaces around operators, except in lines with regular expressions or open literals. */
function withoutSpaces(line: string): string {
  if (/['"`/\\]/.test(line.replace(literals, '').replaceAll(' / ', ''))) return line;
  const parts = new RegExp(`${literals.source}| ?[=,:?(){}[\\]<>&|!*] ?| [+/-] (?![+-])| (?=['"\`])`, 'g');
  return line.replace(parts, (part) => part.trim());
}

const declarationOf = (line: string | undefined) => /^(?:export )?(?:const|let)\b/.exec(line ?? '')?.[0];

/** Joins lines. Constants that follow each other need one `const`: the compiler begins each statement on a line of its own. */
const joinLines = (lines: readonly string[]): string =>
  lines.reduce((text, line, at) => {
    const declaration = declarationOf(line);
    const isNext = declaration && text.endsWith(';') && declarationOf(lines[at - 1]) === declaration;
    return isNext ? `${text.slice(0, -1)},${line.slice(declaration.length).trimStart()}` : `${text}\n${line}`;
  });

/**
 * Strips types, comments and layout. Line breaks can go, because the compiler ends each statement with a semicolon, and texts
 * of several lines are GraphQL. The semicolon at the end of a block can go, because no loop has an empty body.
 */
export async function stripScript(text: string): Promise<string> {
  return joinLines(
    withoutIndents(await stripTypes(text))
      .split('\n')
      .map(withoutSpaces),
  )
    .replace(/;?\n([}\])])/g, '$1')
    .replace(/([{,;([])\n/g, '$1')
    .replace(/(?<![\w$])\((\w+)\)=>/g, '$1=>');
}

export const stripStyle = (text: string) =>
  text
    .replace(/\/\*.*?\*\//gs, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?([{};,>~]) ?/g, '$1')
    .replace(/="([A-Za-z_]+)"/g, '=$1')
    .replaceAll(';}', '}')
    .replace(/: /g, ':')
    .replace(/([ :,(-])0\./g, '$1.');
