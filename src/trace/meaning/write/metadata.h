/* The metadata, which precedes the events of a trace. */
#ifndef GPUTRACE_TRACE_MEANING_WRITE_METADATA_H
#define GPUTRACE_TRACE_MEANING_WRITE_METADATA_H

#include <stdbool.h>

struct conversion;

/* Writes all metadata of the trace. Returns 0, or -1 after error(). */
int write_metadata(struct conversion *conversion);

/*
 * A GPU's place on the PCI bus, which CUPTI's records lack. NVIDIA's kernel module shows it to every user: the folders
 * of /proc/driver/nvidia/gpus have addresses for names, and the file "information" in each has the GPU's UUID.
 */

#define PCI_ADDRESS_FOLDER "/proc/driver/nvidia/gpus"
#define PCI_ADDRESS_BYTES 32 /* "0000:01:00.0" and its NUL fit */

/* Sets ADDRESS to that of the GPU with UUID ("GPU-…") in FOLDER. Returns false if FOLDER does not have the GPU, as on
 * another machine, in a container without the folder, or under WSL. */
bool pci_address_find(const char *folder, const char *uuid, char address[PCI_ADDRESS_BYTES]);

#endif
