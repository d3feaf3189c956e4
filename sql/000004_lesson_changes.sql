-- Lessons can be changed and deleted: each has a booking in the same state, a job records who sent it, and a batch what to do about conflicts.
alter table batch
  add column on_conflict text not null default 'Fail' check (on_conflict in ('Fail', 'Skip', 'Displace'));
-- Ended batches are kept for a time, then swept.
create index batch_finished on batch (finished_at) where finished_at is not null;

alter table lesson_job
  add column created_by integer,
  add column changed_at timestamptz not null default now(),
  add foreign key (mandator_id, created_by) references person on delete restrict;
update lesson_job set created_by = batch.created_by, changed_at = lesson_job.created_at
  from batch where batch.mandator_id = lesson_job.mandator_id and batch.id = lesson_job.batch_id;
alter table lesson_job alter column created_by set not null;

-- A lesson always keeps the same booking, of kind Lesson: if the lesson is cancelled (Entfaellt), so is its booking.
alter table lesson drop constraint lesson_check1;
create temporary table cancelled_lesson on commit drop as
  select mandator_id, job, lektion_id, nextval('booking_id_seq') as booking_id from lesson where booking_id is null;
insert into booking (mandator_id, id, resource_id, kind, status, origin, subject, is_private, occupied, batch_id)
  overriding system value
  select lesson.mandator_id, cancelled.booking_id, resource_id, 'Lesson', 'Cancelled', 'Import', coalesce(titel, fach), privat,
    tstzrange(beginn, ende), lesson_job.batch_id
  from lesson join cancelled_lesson as cancelled using (mandator_id, job, lektion_id)
  join lesson_job on lesson_job.mandator_id = lesson.mandator_id and lesson_job.id = lesson.job;
update lesson set booking_id = cancelled.booking_id from cancelled_lesson as cancelled
  where (lesson.mandator_id, lesson.job, lesson.lektion_id) = (cancelled.mandator_id, cancelled.job, cancelled.lektion_id);
alter table lesson alter column booking_id set not null;
-- The timetable of a room.
create index lesson_room on lesson (mandator_id, resource_id, beginn);

-- The jobs of a batch, by which the batch is found for as long as it is kept; their bodies are kept until it has ended.
alter table batch_job
  add column job_id text,
  alter column body drop not null;
update batch_job set job_id = left(coalesce(body ->> 'JobID', body ->> 'jobID', body ->> 'JobId', body ->> 'jobId'), 128);
create index batch_job_job_id on batch_job (mandator_id, job_id);
