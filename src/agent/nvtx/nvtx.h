/*
 * NVTX: an injection of our own, which works without GPU and driver and sees everything that NVTX tells.
 *
 * NVTX's header loads the library once for each module (executable or shared library) of the program that uses it, and
 * each time asks for its functions. Domains of one name are one domain, whichever modules made them.
 */
#ifndef GPUTRACE_AGENT_NVTX_NVTX_H
#define GPUTRACE_AGENT_NVTX_NVTX_H

#include <nvtx3/nvToolsExt.h>

/* Puts our functions into the table of the module that calls. Gives 1, or 0 when the module's NVTX is not understood.
 */
int nvtx_attach(NvtxGetExportTableFunc_t export_table);

#endif
