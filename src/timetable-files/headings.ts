/** The columns of a CSV of lessons, and their usual headings: here and in the console, which shows what was found. Pure. */

/** As `Mapping` of POST timetables names them. */
export const columnNames = [
  'Key',
  'Date',
  'Day',
  'Period',
  'Weeks',
  'Begin',
  'End',
  'Room',
  'Subject',
  'Title',
  'Classes',
  'Teachers',
  'Remark',
  'Status',
] as const;
export type ColumnName = (typeof columnNames)[number];

/** In lower case, letters and digits alone. The first that a file has counts. */
const headings: Record<ColumnName, string> = {
  Key: 'lektionid lessonkey lessonid activityid id nr nummer number unr lektionsnummer',
  Date: 'date datum',
  Day: 'day tag wochentag weekday',
  Period: 'period stunde std unterrichtsstunde hour',
  Weeks: 'weeks week woche wochen turnus unterrichtsgruppe',
  Begin: 'begin beginn start von from anfang startzeit starttime beginnzeit',
  End: 'end ende bis to until endzeit endtime',
  Room: 'room raum ressourcename resourcename zimmer saal ressource resource ort location',
  // Where there is a title and no subject, the title is the subject.
  Subject: 'subject fach modul module kurs course titel title',
  Title: 'titel title bezeichnung thema name',
  Classes: 'classes class klasse klassen studentssets gruppe group',
  Teachers: 'teachers teacher lehrkraft lehrkräfte lehrer lehrperson lehrpersonen lecturer dozent dozentin dozierende',
  Remark: 'remark remarks bemerkung bemerkungen comments comment kommentar notiz note text',
  Status: 'status zustand',
};

export const plainHeading = (heading: string): string => heading.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

/** The index of the column that a heading suggests, among those that are not taken; -1 for none. */
export function findColumn(name: ColumnName, written: readonly string[], taken: ReadonlySet<number>): number {
  const plain = written.map(plainHeading);
  for (const usual of headings[name].split(' ')) {
    const at = plain.findIndex((heading, index) => heading === usual && !taken.has(index));
    if (at >= 0) return at;
  }
  return -1;
}
