/** The page at the vendor's address. */
export const describeApi = (): string => `Demo vendor: an asynchronous video API, all in memory.

POST /v1/jobs               {model, prompt, seconds?, resolution?, image?, reference_id?, script?}, or a form with a file "image"
GET  /v1/jobs/:id           the job
GET  /v1/jobs?ids=a,b       up to 100 jobs
GET  /v1/jobs/:id/content   the video; HEAD and Range too
GET  /stats                 what arrived here; ?reference_id= for one order

Send any key as "Authorization: Bearer KEY"; keys that begin with "invalid" are refused.

Directives in the prompt, "a cat [fail] [duration=2]", or in "script" control a job:

[instant]            done when it is created
[duration=SECONDS]   takes this long
[slow]               takes ten times as long
[fail]               ends as failed
[seconds=N]          the length of the result, whatever was ordered
[bytes=N]            the file is padded to about this size
[delay=SECONDS]      every answer about the job waits this long
[404]                every poll answers that there is no such job
[429] [500] [garbage]   the first three polls fail; =N polls, or =always
[submit=400] [submit=429] [submit=500]   the order is refused
[submit=garbage]     the order is accepted, but the answer is not JSON
[batch=404]          a batch with this job is answered 404 as a whole
`;
