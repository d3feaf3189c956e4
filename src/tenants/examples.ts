/** Examples of bodies and answers for the OpenAPI document, from the demo tenant. */

export const tenant = {
  Mandator: 'demo',
  Name: 'Demo University',
  Parameters: {
    PinAuthenticationAllowed: true,
    UsersMayImport: false,
    CalendarWriting: 'Off',
    CalendarEdits: 'PutBack',
    DeclineConflicts: false,
  },
  Colour: '#1e6b47',
  Logo: null,
  Version: 1,
};
export const tenantChanges = { Parameters: { UsersMayImport: true } };

export const location = { Id: 1, Name: 'Campus Zürich', TimeZone: 'Europe/Zurich', Active: true, Version: 1 };
export const newLocation = { Name: 'Campus Bern', TimeZone: 'Europe/Zurich' };
export const locationChanges = { Name: 'Campus Zürich Nord' };

export const resource = {
  Id: 2,
  LocationId: 1,
  Name: 'HS 101',
  Kind: 'LectureHall',
  Capacity: 120,
  Equipment: ['Beamer', 'Mikrofonanlage', 'Wandtafel'],
  Mailbox: 'hs101@demo.example',
  CheckInMinutes: null,
  CalendarWriting: null,
  CalendarEdits: null,
  DeclineConflicts: null,
  PolicyId: null,
  Active: true,
  Version: 1,
};
export const newResource = { LocationId: 1, Name: 'HS 103', Kind: 'LectureHall', Capacity: 60 };
export const resourceChanges = { Capacity: 110, Mailbox: null };

export const person = {
  Id: 1,
  Name: 'Ada Admin',
  Email: 'ada@demo.example',
  TimeZone: 'Europe/Zurich',
  Role: 'Admin',
  TeacherCode: 'LOV',
  Active: true,
  ErasedAt: null,
  Version: 1,
};
export const newPerson = {
  Name: 'Grace Hopper',
  Email: 'grace@demo.example',
  TimeZone: 'Europe/Zurich',
  Role: 'User',
  TeacherCode: 'HOP',
};
export const personChanges = { TimeZone: 'Asia/Tokyo' };

export const group = { Id: 3, Name: 'Lehrpersonen', Version: 1 };
export const newGroup = { Name: 'Lehrpersonen', AddMembers: [1, 2] };
export const groupChanges = { AddMembers: [4], RemoveMembers: [2] };

export const policy = {
  Id: 1,
  Name: 'Hörsäle',
  MaySee: [],
  MayBook: [3],
  NeedsApproval: true,
  MaySkipApproval: [3],
  MayDecide: [4],
  MayBookForOthers: [],
  LeadMinutes: 60,
  AheadDays: 180,
  LongestMinutes: 240,
  QuotaMinutesPerWeek: null,
  QuotaBookingsPerWeek: 5,
  Version: 1,
};
export const newPolicy = { Name: 'Hörsäle', MayBook: [3], NeedsApproval: true, MayDecide: [4] };
export const policyChanges = { MayBook: [3, 5], LeadMinutes: null };
