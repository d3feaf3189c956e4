/** Local times that clocks skip or show twice, with the instants that the server, door signs and the console mean by them. */
export const localTimes = [
  ['America/New_York', '2027-03-14T02:30', '2027-03-14T07:30:00.000Z'],
  ['Europe/Berlin', '2027-10-31T02:30', '2027-10-31T00:30:00.000Z'],
  ['America/Santiago', '2027-09-05T00:00', '2027-09-05T04:00:00.000Z'],
  ['Australia/Lord_Howe', '2027-04-04T01:45', '2027-04-03T14:45:00.000Z'],
  ['Pacific/Apia', '2011-12-30T12:00', '2011-12-30T22:00:00.000Z'],
] as const;
