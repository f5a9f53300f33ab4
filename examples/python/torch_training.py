"""A model in PyTorch that sums messages by ptxgen, forward and backward, on whatever device its
tensors are."""
# Needs: torch
import torch

import ptxgen.torch

torch.manual_seed(0)
nodes, edges = 50, 300
source, target = torch.randint(0, nodes, (edges,)), torch.randint(0, nodes, (edges,))
x, goal = torch.randn(nodes, 16), torch.randn(nodes, 16)
layer = torch.nn.Linear(16, 16)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)


def loss():
    messages = torch.ops.ptxgen.gather_rows(layer(x), source)
    return (torch.ops.ptxgen.scatter_add(x, target, messages) - goal).square().mean()


first = loss().item()
for _ in range(20):
    optimizer.zero_grad()
    loss().backward()
    optimizer.step()
print("better" if loss().item() < 0.7 * first else "no better")  # better

with ptxgen.torch.enabled("cpu", measure=False, least_bytes=0):  # on CUDA: ptxgen.torch.enable()
    torch.zeros(nodes, 16).index_add_(0, target, torch.ones(edges, 16))
print(ptxgen.torch.stats()["index_add_"]["served"])  # 1
