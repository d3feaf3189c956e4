/**
 * Timetables as schools have them. A **timetable file** is what a timetable program writes: Untis, CSV or iCalendar. A reader of
 * its format turns it into **entries**, each with its line; the rules that follow are the same for all formats and make jobs
 * with lessons of them, which are imported as one batch. A **profile** keeps how the files of one source are read.
 *
 * Invariants: the same files give the same jobs, whatever the order of their lines and their encoding; JobIDs and LektionIds
 * do not depend on rooms, teachers and subjects, so that a change of these is an update; what a file has wrong is told with
 * line and column, and then nothing is stored.
 */
export { type AcceptedTimetable, getImportedBatch, importTimetable } from './import.ts';
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
