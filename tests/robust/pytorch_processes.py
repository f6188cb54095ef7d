"""PyTorch on the CPU: operators in this process (main), in workers of a DataLoader (fork, spawn) or of a pool (pool)."""
import multiprocessing, sys, torch
from concurrent.futures import ProcessPoolExecutor
from torch.utils.data import DataLoader, Dataset

class Data(Dataset):
    def __len__(self): return 8
    def __getitem__(self, i): return torch.randn(16).sort().values

def sort(n): return float(torch.randn(n).sort().values[0])

if __name__ == '__main__':
    how = sys.argv[1]
    if how == 'main':
        for i in range(3): torch.nn.Linear(8, 8)(torch.randn(2, 8)).sum().backward()
    elif how == 'pool':
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context('spawn')) as pool: list(pool.map(sort, [9, 9]))
    else:
        for b in DataLoader(Data(), batch_size=2, num_workers=2, multiprocessing_context=how): (b @ b.T).sum()
