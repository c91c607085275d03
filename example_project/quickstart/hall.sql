CREATE TABLE members (member_id TEXT PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL, credits INTEGER NOT NULL);
CREATE TABLE classes (
  class_id TEXT PRIMARY KEY, title TEXT NOT NULL, starts TEXT NOT NULL,
  hours_until_start INTEGER NOT NULL, free INTEGER NOT NULL
);
CREATE TABLE bookings (
  booking_id TEXT PRIMARY KEY, member_id TEXT NOT NULL REFERENCES members,
  class_id TEXT NOT NULL REFERENCES classes, status TEXT NOT NULL
);
