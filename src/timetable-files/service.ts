/**
 * Imports timetables from the files of timetable programs. A **timetable file** is Untis, CSV or iCalendar. The reader of its
 * format turns it into **entries**, each with its line. The same rules for all formats turn entries into jobs with lessons, which
 * are imported as one batch. A **profile** stores how the files of one source are read.
 *
 * Invariants: the same files give the same jobs, whatever their encoding and the order of their lines; JobIDs and LektionIds do
 * not depend on rooms, teachers and subjects, so a change of these is an update; each fault of a file is reported with its line and
 * column, and then nothing is stored.
 */
export { type AcceptedTimetable, getImportedBatch, importTimetable } from './import.ts';
export { filesTooLarge } from './intake.ts';
export {
  changeProfile,
  createProfile,
  deleteProfile,
  findProfile,
  getProfile,
  listProfiles,
  mostProfiles,
  type NewProfile,
  profileList,
} from './profiles.ts';
