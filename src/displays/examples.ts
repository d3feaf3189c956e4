/** What the documentation of REST shows. */
const day = '2027-03-01';
const at = (time: string) => `${day}T${time}:00.000Z`;

export const snapshot = {
  ...{ Cursor: 'mY2n0yK1cC8bQ3xJ5vT7aw', ServerTime: at('08:12'), AsOf: at('08:12'), StaleAfterSeconds: 90 },
  ...{ TrustUntil: at('08:27'), TimeZone: 'Europe/Zurich' },
  ZoneOffsets: [{ From: '2027-02-28T23:00:00.000Z', OffsetMinutes: 60 }],
  Resource: {
    ...{ Id: 2, Name: 'HS 101', LocationId: 1, LocationName: 'Campus Zürich', Kind: 'Hall', Capacity: 120 },
    ...{ Equipment: ['Beamer'], Active: true },
  },
  ...{ Status: 'BUSY', Until: at('08:45') },
  Schedule: [
    {
      ...{ BookingId: 12, Version: 2, Kind: 'Lesson', Occupies: true, IsTentative: false },
      ...{ From: at('08:00'), To: at('08:45'), Start: at('08:00'), End: at('08:45') },
      ...{ Subject: 'Analysis', Organizer: null, Classes: ['1a'], Teachers: ['E. Noether'], CheckIn: null },
      Change: {
        ...{ Kind: 'MovedHere', RoomBefore: 'HS 102', RoomNow: 'HS 101' },
        ...{ StartBefore: null, EndBefore: null, TeachersBefore: null },
      },
    },
  ],
  Open: [{ Start: at('06:00'), End: at('19:00') }],
  ...{ Start: '2027-02-28T23:00:00.000Z', End: '2027-03-03T23:00:00.000Z', NextChangeAt: at('08:35') },
  NextPollSeconds: 300,
};
