/** GraphQL's names of the members of REST: in camel case, and English where those of the import are German (contract 8). */
import { lowerFirst, upperFirst } from '../fields.ts';

/** English names of REST's German members. Keys are the senders' own identifiers; ids are ours. */
export const english: ReadonlyMap<string, string> = new Map(
  Object.entries({
    Beginn: 'start',
    Bemerkung: 'remark',
    Bezeichnung: 'designation',
    Ende: 'end',
    Fach: 'subject',
    JobID: 'jobKey',
    Klasse: 'class',
    Klassen: 'classes',
    KopplungId: 'couplingKey',
    Lehrperson: 'teacher',
    Lehrpersonen: 'teachers',
    Lektion: 'lessonSummary',
    LektionId: 'lessonKey',
    LektionIndex: 'lessonIndex',
    LektionList: 'lessons',
    Privat: 'isPrivate',
    Quelle: 'source',
    ReplaceLektionList: 'replaceLessons',
    RessourceId: 'resourceId',
    RessourceName: 'resourceName',
    Standort: 'locationName',
    Titel: 'title',
    Ursprung: 'origin',
  }),
);

/** The name that GraphQL has for a member of REST. */
export const nameOf = (member: string): string => english.get(member) ?? lowerFirst(member);

/** The name of the type whose schema has this id. */
export const typeNameOf = (id: string): string => (id === 'Lektion' ? 'LessonSummary' : id);

/** A JSON pointer into a body of REST, in either casing, with GraphQL's names. */
export const inNames = (pointer: string): string =>
  pointer.replaceAll(/(?<=\/)[A-Za-z]\w*/g, (member) => nameOf(member === 'jobId' ? 'JobID' : upperFirst(member)));

const germanWords = new RegExp(`(?<!\\w|\`)(${[...english.keys()].join('|')})(?!\\w|\`)`, 'g');

/** A description of REST with GraphQL's names in it. */
export const inWords = (description: string): string =>
  description
    .replaceAll(/`(\w+)`/g, (_, member) => `\`${nameOf(member)}\``)
    .replaceAll(germanWords, (member) => `\`${nameOf(member)}\``);

/** The description of a member; it also names a German member of REST. */
export const describeMember = (member: string, description: string): string =>
  english.has(member) ? `${inWords(description)} REST: \`${member}\`.` : inWords(description);
