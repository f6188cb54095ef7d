/*
 * The library's life in the user's process: started once by the first caller, CUDA's driver, NVTX or gputrace.h; left
 * behind in forked children; finished at exit.
 */
#ifndef GPUTRACE_AGENT_MAIN_LIBRARY_H
#define GPUTRACE_AGENT_MAIN_LIBRARY_H

#include <gputrace/callbacks.h>
#include <stdbool.h>
#include <stdint.h>

/* Reads the settings and opens this process's spool, once. False when this process is not to be recorded. */
bool library_start(void);

/* Loads CUPTI and starts recording, once; called by the driver. */
void library_start_cuda(void);

#endif
