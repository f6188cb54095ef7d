/*
 * The recorder's part for NVTX's extensions: their records, which their collectors have made, into the spool.
 */
#ifndef GPUTRACE_AGENT_SPOOL_RECORD_NVTX_EXTENSIONS_H
#define GPUTRACE_AGENT_SPOOL_RECORD_NVTX_EXTENSIONS_H

/* Gives 0, or -1: no memory. */
int record_nvtx_extensions_subscribe(void);

#endif
