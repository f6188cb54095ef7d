/* What stands before the events of a trace. */
#ifndef GPUTRACE_TRACE_MEANING_WRITE_METADATA_H
#define GPUTRACE_TRACE_MEANING_WRITE_METADATA_H

#include <stdbool.h>

struct conversion;

/* Returns 0, or -1 after error(). */
int write_metadata(struct conversion *conversion);

/*
 * Where a GPU is on the PCI bus, as NVIDIA's kernel module says it to everybody: each folder of
 * /proc/driver/nvidia/gpus is named by an address, and its file "information" has the GPU's UUID. CUPTI's records do
 * not have the address.
 */

#define PCI_ADDRESS_FOLDER "/proc/driver/nvidia/gpus"
#define PCI_ADDRESS_BYTES 32 /* "0000:01:00.0" and its NUL fit */

/* The address of the GPU with UUID ("GPU-…") among those that FOLDER lists. Returns false if it is not there, as on
 * another machine, in a container without the folder, or under WSL. */
bool pci_address_find(const char *folder, const char *uuid, char address[PCI_ADDRESS_BYTES]);

#endif
