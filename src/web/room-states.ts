/** The names of the states of a room, on signs and in the console. */

export const germanStates = {
  FREE: 'Frei',
  STARTING_SOON: 'Bald belegt',
  BUSY: 'Belegt',
  CHECK_IN_DUE: 'Reserviert',
  ENDING_SOON: 'Endet bald',
  CLOSED: 'Geschlossen',
  OUT_OF_SERVICE: 'Außer Betrieb',
  UNKNOWN: 'Unbekannt',
};

export const englishStates: typeof germanStates = {
  FREE: 'Free',
  STARTING_SOON: 'Busy soon',
  BUSY: 'Busy',
  CHECK_IN_DUE: 'Reserved',
  ENDING_SOON: 'Ending soon',
  CLOSED: 'Closed',
  OUT_OF_SERVICE: 'Out of service',
  UNKNOWN: 'Unknown',
};
