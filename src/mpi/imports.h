/*
 * What a program calls of MPI and this library does not record: extensions of the MPI library, functions of later
 * standards, and PMPI_* from the program itself.
 */
#ifndef GPUTRACE_MPI_IMPORTS_H
#define GPUTRACE_MPI_IMPORTS_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the names of the functions that the loaded code imports, that move data by their names, and of which
 * IS_RECORDED says no: "MPIX_Send_enqueue, PMPI_Send". Returns false if there are none. */
bool imports_find_unrecorded(bool (*is_recorded)(const char *name), char *text, size_t space);

#endif
