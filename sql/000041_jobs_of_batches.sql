-- An index for the list of the jobs that a batch has created.
create index lesson_job_batch on lesson_job (mandator_id, batch_id);
