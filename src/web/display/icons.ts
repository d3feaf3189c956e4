/** Paths on a grid of 24 x 24; the shapes differ without colour. */
const circle = 'M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20z';

export const icons = {
  FREE: `${circle}M7 12.5l3.5 3.5L17 9`,
  BUSY: `${circle}M7 12h10`,
  CHECK_IN_DUE: 'M11 3h9v18h-9M3 12h12M11 8l4 4-4 4',
  STARTING_SOON: `${circle}M12 2v10l7 7`,
  ENDING_SOON: 'M6 2h12M6 22h12M7.5 2v4l4.5 6 4.5-6V2M7.5 22v-4l4.5-6 4.5 6v4',
  CLOSED: 'M5 11h14v10H5zM8 11V7a4 4 0 0 1 8 0v4',
  OUT_OF_SERVICE: 'M12 3L2 21h20zM12 10v5M12 17.5v.5',
  UNKNOWN: 'M4 4h16v16H4zM9.2 9.5a2.8 2.8 0 1 1 4.2 2.4c-1 .6-1.4 1.2-1.4 2.1M12 16.7v.3',
  Cancelled: 'M5 5l14 14M19 5L5 19',
  MovedAway: 'M3 12h17M13 5l7 7-7 7',
  MovedHere: 'M4 3v10h15M13 7l6 6-6 6',
  Rescheduled: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 7.5V12l3.5 2',
  Substituted: 'M3 8h16M15 4l4 4-4 4M21 16H5M9 12l-4 4 4 4',
  offline: 'M2 8.5a15 15 0 0 1 20 0M5.5 12a10 10 0 0 1 13 0M9 15.5a5 5 0 0 1 6 0M12 19.5v.3M4 2l16 20',
  stale: `${circle}M12 6v6l4 3`,
};
