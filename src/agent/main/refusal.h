/*
 * Processes that the library keeps out of, though it was loaded.
 */
#ifndef GPUTRACE_AGENT_MAIN_REFUSAL_H
#define GPUTRACE_AGENT_MAIN_REFUSAL_H

/* Why this process is not to be recorded, NULL: it may be. */
const char *refusal_reason(void);

#endif
