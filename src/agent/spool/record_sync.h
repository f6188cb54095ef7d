/*
 * The recorder's part for synchronisation: who waited for what, by the calls that wait.
 *
 * CUPTI has records of this, too; but to have either kind on, of events or of waits, makes every launch longer, and
 * calls that wait are rare and slow.
 */
#ifndef GPUTRACE_AGENT_SPOOL_RECORD_SYNC_H
#define GPUTRACE_AGENT_SPOOL_RECORD_SYNC_H

/* Subscribes. What is heard while recording is off is not written. Gives 0, or -1: no memory. */
int record_sync_subscribe(void);

#endif
