! Three ranks of a Fortran program that call MPI in many ways, and print what came of it. Compiled by the tests with
! each MPI, with its module mpi, or with mpi_f08 where F08 is defined.
program fortran
#ifdef F08
  use mpi_f08
#define COMM type(MPI_Comm)
#define REQUEST type(MPI_Request)
#define TYPE type(MPI_Datatype)
#define ERROR
#define LAST
#else
  use mpi
#define COMM integer
#define REQUEST integer
#define TYPE integer
#define ERROR , error
#define LAST error
#endif
  implicit none
  integer :: rank, error, right, left, given, i, total
  integer :: out(16), in(16), counts(3), places(3), ones(3), bytes(3)
  double precision :: doubles(4)
  COMM :: half, copy
  REQUEST :: requests(2)
  TYPE :: types(3)

  error = 0
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, given ERROR)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank ERROR)
  right = mod(rank + 1, 3)
  left = mod(rank + 2, 3)
  do i = 1, 16
     out(i) = rank * 100 + i
  end do
  in = 0
  doubles = rank
  do i = 1, 3
     counts(i) = i
     places(i) = i * (i - 1) / 2
     ones(i) = 1
     bytes(i) = 4 * (i - 1)
     types(i) = MPI_INTEGER
  end do
  call MPI_Irecv(in, 5, MPI_INTEGER, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, requests(1) ERROR)
  call MPI_Isend(out, 5, MPI_INTEGER, right, 7, MPI_COMM_WORLD, requests(2) ERROR)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE ERROR)
  call MPI_Sendrecv(out, 2, MPI_INTEGER, right, 8, in, 4, MPI_INTEGER, left, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE ERROR)
  total = sum(in)
  call MPI_Barrier(MPI_COMM_WORLD ERROR)
  call MPI_Allreduce(MPI_IN_PLACE, doubles, 4, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD ERROR)
  total = total + int(doubles(1))
  call MPI_Bcast(out, 6, MPI_INTEGER, 1, MPI_COMM_WORLD ERROR)
  if (rank == 0) then
     call MPI_Gatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD ERROR)
  else
     call MPI_Gatherv(out, rank + 1, MPI_INTEGER, in, counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD ERROR)
  end if
  call MPI_Alltoallw(out, ones, bytes, types, in, ones, bytes, types, MPI_COMM_WORLD ERROR)
  total = total + in(3)
  call MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, half ERROR)
  call MPI_Comm_dup(half, copy ERROR)
  call MPI_Reduce(out, in, 2, MPI_INTEGER, MPI_MAX, 0, copy ERROR)
  call MPI_Comm_free(copy ERROR)
  call MPI_Send(out, 1, MPI_INTEGER, MPI_PROC_NULL, 3, half ERROR)
  print '(a,i0,a,i0)', 'rank ', rank, ': ', total
  call MPI_Finalize(LAST)
end program fortran
