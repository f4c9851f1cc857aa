"""As much of an mpi4py communicator as `colllib.mpi.run` uses, between threads: it is tested where there is no MPI."""

from __future__ import annotations

import queue
import threading
from concurrent.futures import ThreadPoolExecutor

PATIENCE = 30  # seconds, after which a thread that waits for ever is a failure


class Request:
    def __init__(self, finish):
        self.Wait = finish


class Shared:
    """What the ranks of one job have in common."""

    def __init__(self, size):
        self.size = size
        self.barrier = threading.Barrier(size, timeout=PATIENCE)
        self.gathered = [None] * size
        ranks = range(size)  # all boxes beforehand: threads that first meet in one would each make their own
        self.boxes = {(source, target): queue.Queue() for source in ranks for target in ranks}


class Communicator:
    """One thread's view."""

    def __init__(self, shared, rank):
        self.shared, self.rank = shared, rank

    def Get_rank(self):
        return self.rank

    def Get_size(self):
        return self.shared.size

    def Dup(self):
        return self

    def Free(self):
        pass

    def allgather(self, value):
        self.shared.gathered[self.rank] = value
        self.shared.barrier.wait()
        everything = list(self.shared.gathered)
        self.shared.barrier.wait()
        return everything

    def Isend(self, buffer, dest):
        self.shared.boxes[self.rank, dest].put(buffer.tobytes())
        return Request(lambda: None)

    def Irecv(self, buffer, source):
        def finish():
            arrived = self.shared.boxes[source, self.rank].get(timeout=PATIENCE)
            assert len(arrived) == buffer.nbytes
            buffer[:] = memoryview(arrived)

        return Request(finish)


def on_threads(ranks, function):
    """What function(communicator) gives on each of so many ranks; an exception is a result like any other."""
    shared = Shared(ranks)

    def one(rank):
        try:
            return function(Communicator(shared, rank))
        except Exception as error:
            return error

    with ThreadPoolExecutor(ranks) as pool:
        return list(pool.map(one, range(ranks)))
