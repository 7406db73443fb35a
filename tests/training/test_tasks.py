import pytest
import torch
from scipy.sparse import csr_matrix
from torch.nn import functional

from hgcn.config import Config
from hgcn.data.features import degree_features
from hgcn.data.sparse import as_features
from hgcn.data.splits import NodeSplit
from hgcn.errors import ConfigError
from hgcn.nn.structure import pair_facts
from hgcn.training.links import LinkTask
from hgcn.training.nodes import NodeTask, disagreement
from hgcn.training.problem import Problem, choose
from small_graphs import forest, tree

SMALL = {"dim": 3, "model": "gcn"}


def make(graph, **settings):
    """A task, with what its network is shown and asked written down."""
    problem = Problem(graph, choose(graph, Config(**{**SMALL, **settings})))
    task = problem.task(problem.predictor())
    seen = []
    encode, links = task.predictor.encode, task.predictor.links

    def spy_encode(x, edge_index, edge_weight=None):
        seen.append({"x": x, "edges": edge_index, "weight": edge_weight})
        return encode(x, edge_index, edge_weight)

    def spy_links(z, pairs, facts=None):
        seen[-1] |= {"pairs": pairs, "facts": facts}
        return links(z, pairs, facts)

    task.predictor.encode, task.predictor.links = spy_encode, spy_links
    return task, seen


def keys(pairs):
    return {(min(i, j), max(i, j)) for i, j in pairs.T.tolist()}


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def step_loss(task, epoch, generator):
    (batch,) = task.batches(epoch, generator)
    return task.loss(batch)


def test_nothing_hidden_shows_and_asks_all_training_edges():
    task, seen = make(tree(), task="link", hidden_share=0.0)
    step_loss(task, 1, generator())
    train = task.parts.train
    assert torch.equal(seen[0]["edges"], train.messages)
    count = train.positives.shape[1]
    assert torch.equal(seen[0]["pairs"][:, :count], train.positives)
    assert seen[0]["pairs"].shape[1] == 2 * count


@pytest.mark.parametrize("share", [0.01, 0.3, 0.95])
def test_hidden_edges_carry_no_messages_and_all_others_do(share):
    task, seen = make(tree(), task="link", hidden_share=share, negatives=2.0)
    every = keys(task.parts.train.positives)
    counts = []
    for step in range(30):
        step_loss(task, 1, generator(step))
        pairs, edges = seen[-1]["pairs"], seen[-1]["edges"]
        hidden = keys(pairs[:, : pairs.shape[1] // 3])
        assert hidden
        assert keys(edges) == every - hidden
        assert edges.shape[1] == 2 * len(every - hidden)
        assert not keys(pairs[:, pairs.shape[1] // 3 :]) & every
        counts.append(len(hidden) / len(every))
    # 30 steps of 76 edges: the mean is within six standard deviations, or at the floor of one edge.
    assert abs(sum(counts) / 30 - max(share, 1 / 76)) < 0.06


def test_loops_are_never_hidden_and_weights_stay_with_their_edges():
    graph = tree()
    loops = torch.arange(90).repeat(2, 1)
    edges = torch.cat((graph.edge_index, loops), dim=1)
    weight = (edges.sum(0) + 1).float()
    task, seen = make(
        graph.replace(edge_index=edges, edge_weight=weight), task="link", hidden_share=0.5
    )
    step_loss(task, 1, generator())
    shown = seen[0]["edges"]
    assert int((shown[0] == shown[1]).sum()) == 90
    assert torch.equal(seen[0]["weight"], (shown.sum(0) + 1).float())


def test_in_a_directed_graph_both_ways_are_hidden_together():
    edges = tree().pairs()
    both = torch.cat((edges, edges[:, ::3].flip(0)), dim=1)
    graph = tree().replace(edge_index=both, directed=True)
    task, seen = make(graph, task="link", hidden_share=0.5)
    for step in range(5):
        step_loss(task, 1, generator(step))
        pairs = seen[-1]["pairs"]
        assert not keys(pairs[:, : pairs.shape[1] // 2]) & keys(seen[-1]["edges"])


def test_the_link_loss_is_the_cross_entropy_of_the_fermi_dirac_decoder():
    task, seen = make(tree(), task="link", structure=False)
    loss = step_loss(task, 1, generator())
    pairs = seen[0]["pairs"]
    z = task.predictor.encoder.encode(task.x, seen[0]["edges"], None)
    d2 = (z[pairs[0]] - z[pairs[1]]).square().sum(-1)
    p = 1 / (((d2 - 2.0) / 1.0).exp() + 1)
    half = pairs.shape[1] // 2
    expected = -p[:half].log().mean() - (1 - p[half:]).log().mean()
    torch.testing.assert_close(loss, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("graph", [tree(), tree(directed=True), forest((20,) * 8)])
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_structure_is_counted_on_the_edges_that_a_step_shows(graph, share):
    task, seen = make(graph, task="link", hidden_share=share)
    step_loss(task, 1, generator())
    step = seen[0]
    expected = pair_facts(step["pairs"], step["edges"], step["weight"], len(step["x"]))
    torch.testing.assert_close(step["facts"], expected.float())
    whole = graph.edge_index if task._numbers["train"] is None else task._inputs["train"].edge_index
    counted = pair_facts(step["pairs"], whole, None, len(step["x"])).float()
    assert torch.equal(step["facts"], counted) == (whole.shape == step["edges"].shape)


def test_structure_of_a_part_is_counted_on_the_edges_that_it_shows():
    task, seen = make(tree(), task="link")
    for part in ("val", "test"):
        task.outputs(part)
        messages = getattr(task.parts, part).messages
        expected = pair_facts(seen[-1]["pairs"], messages, None, 90)
        torch.testing.assert_close(seen[-1]["facts"], expected.float())


def test_validation_and_test_edges_carry_no_messages():
    task, seen = make(tree(), task="link")
    for part in ("val", "test"):
        task.metrics(part)
        held = keys(task.parts.val.positives) | keys(task.parts.test.positives)
        assert not keys(seen[-1]["edges"]) & held


def test_parts_of_other_graphs_see_what_the_whole_union_would_show():
    graph = forest(split=None)
    task, _ = make(graph, task="node", normalise="none")
    split = Problem(graph, task.config).split
    assert isinstance(split, NodeSplit)
    assert split.inductive
    whole = task.predictor.encoder.encode(graph.x, graph.edge_index, None)
    for part in ("train", "val", "test"):
        nodes = getattr(split, part)
        logits, y = task.outputs(part)
        torch.testing.assert_close(logits, task.predictor.classes(whole[nodes]))
        assert torch.equal(y, graph.y[nodes])
        seen = task._parts[part].seen
        assert len(seen.x) == int(torch.isin(graph.graph_ids, graph.graph_ids[nodes]).sum())


def test_the_regulariser_adds_the_loss_of_links():
    task, _ = make(tree(), task="node", link_regulariser=0.5)
    logits, y = task.outputs("train")
    links = step_loss(task.links, 1, generator(3))
    torch.testing.assert_close(
        step_loss(task, 1, generator(3)), functional.cross_entropy(logits, y) + 0.5 * links
    )


def test_pretraining_is_for_links_and_then_for_classes():
    task, _ = make(tree(), task="node", pretrain=4)
    assert task.warm_up == 4
    for epoch in (1, 4):
        torch.testing.assert_close(
            step_loss(task, epoch, generator(3)), step_loss(task.links, epoch, generator(3))
        )
    logits, y = task.outputs("train")
    torch.testing.assert_close(
        step_loss(task, 5, generator(3)), functional.cross_entropy(logits, y)
    )


def test_pretraining_sees_the_training_graphs_only():
    graph = forest((20, 20, 20, 20, 20, 20, 20, 20))
    for seed in range(4):
        task, _ = make(graph, task="node", pretrain=1, seed=seed)
        split = Problem(graph, task.config).split
        learnt = torch.unique(graph.graph_ids[split.train])
        shown = torch.unique(graph.graph_ids[task.links.parts.train.positives])
        assert torch.equal(shown, learnt)


def test_class_weights_are_the_inverse_frequencies():
    graph = tree(class_names=("left", "right", "unseen"))
    task, _ = make(graph, task="node", class_weights=True)
    logits, y = task.outputs("train")
    count = [int((y == k).sum()) for k in range(3)]
    weight = [len(y) / (3 * max(n, 1)) for n in count]
    losses = -logits.log_softmax(-1)[torch.arange(len(y)), y]
    per_node = torch.tensor([weight[k] for k in y.tolist()])
    expected = (losses * per_node).sum() / per_node.sum()
    torch.testing.assert_close(step_loss(task, 1, generator()), expected)


@pytest.mark.parametrize(("epoch", "weight"), [(4, 0.007), (53, 0.35), (103, 0.7), (900, 0.7)])
def test_consistency_adds_the_disagreement_of_all_nodes(epoch, weight):
    """Checked on the two passes themselves, with the dropout that they had."""
    task, _ = make(tree(), task="node", consistency=0.7, feature_dropout=0.5, pretrain=3)
    task.predictor.train()
    torch.manual_seed(5)
    loss = step_loss(task, epoch, generator())
    torch.manual_seed(5)
    part = task._parts["train"]
    seen, nodes, y = part.seen, part.nodes, part.classes
    encode, classes = task.predictor.encode, task.predictor.classes
    first, second = (classes(encode(seen.x, seen.edge_index)) for _ in range(2))
    p, q = first.softmax(-1), second.softmax(-1)
    aim = ((p + q) / 2) ** 2
    aim = aim / aim.sum(-1, keepdim=True)
    apart = ((p - aim) ** 2).sum(-1).mean() / 2 + ((q - aim) ** 2).sum(-1).mean() / 2
    labelled = [functional.cross_entropy(view[nodes], y) for view in (first, second)]
    torch.testing.assert_close(loss, sum(labelled) / 2 + weight * apart)
    assert not torch.equal(first, second)


def test_more_views_are_as_many_passes():
    task, seen = make(tree(), task="node", consistency=0.7, views=5, node_dropout=0.5)
    task.predictor.train()
    torch.manual_seed(5)
    loss = step_loss(task, 200, generator())
    assert len(seen) == 5
    torch.manual_seed(5)
    part = task._parts["train"]
    views = torch.stack([task.predictor(*part.seen.arguments) for _ in range(5)])
    labelled = [functional.cross_entropy(view[part.nodes], part.classes) for view in views]
    torch.testing.assert_close(loss, sum(labelled) / 5 + 0.7 * disagreement(views))


def test_disagreement_pulls_towards_a_fixed_aim():
    """Predictions that agree and are sure cost nothing; the gradient is the one to a constant."""
    sure = torch.tensor([[[40.0, 0.0]], [[40.0, 0.0]]])
    assert disagreement(sure) < 1e-12
    logits = torch.randn(2, 6, 3, dtype=torch.float64, requires_grad=True)
    p = logits.softmax(-1)
    aim = p.detach().mean(0) ** 2
    aim = aim / aim.sum(-1, keepdim=True)
    expected = torch.autograd.grad((p - aim).square().sum(-1).mean(), logits)
    torch.testing.assert_close(torch.autograd.grad(disagreement(logits), logits), expected)
    huge = torch.tensor([[[1e4, 0.0]], [[0.0, 1e4]]], requires_grad=True)
    (gradient,) = torch.autograd.grad(disagreement(huge), huge)
    assert gradient.isfinite().all()


def test_degrees_are_counted_on_messages_only():
    graph = tree(x=None)
    problem = Problem(graph, choose(graph, Config(task="link", **SMALL)))
    task = problem.task(problem.predictor())
    assert isinstance(task, LinkTask)
    degree = torch.bincount(task.parts.train.messages[1], minlength=90)
    torch.testing.assert_close(task.x[:, 1], degree.float().log1p())


def test_degrees_of_the_test_count_all_that_it_sees():
    graph = tree(x=None)
    problem = Problem(graph, choose(graph, Config(task="link", val_as_input=True, **SMALL)))
    task = problem.task(problem.predictor())
    assert isinstance(task, LinkTask)
    seen = {part: task._inputs[part].x[:, 1].expm1().sum() for part in ("train", "val", "test")}
    both_ways = {
        part: 2 * getattr(task.parts, part).positives.shape[1] for part in ("train", "val")
    }
    assert seen["train"] == pytest.approx(both_ways["train"])
    assert seen["val"] == pytest.approx(both_ways["train"])
    assert seen["test"] == pytest.approx(both_ways["train"] + both_ways["val"])


@pytest.mark.parametrize("graph", [tree(), tree(directed=True), forest((20,) * 8)])
def test_degrees_of_a_step_do_not_count_hidden_edges(graph):
    sparse = as_features(csr_matrix(graph.x.clamp_min(0.0).numpy()))
    for change in ({}, {"x": None}, {"x": sparse}):
        task, seen = make(graph.replace(**change), task="link", degree_features=True)
        step_loss(task, 1, generator())
        is_sparse = change.get("x") is sparse
        assert (seen[0]["x"].layout is torch.sparse_csr) == is_sparse
        x, edges = seen[0]["x"].to_dense(), seen[0]["edges"]
        before = task._inputs["train"].x.to_dense()
        expected = degree_features(edges, len(x), directed=graph.directed)
        torch.testing.assert_close(x[:, -8:], expected)
        assert not torch.equal(expected, before[:, -8:])
        torch.testing.assert_close(x[:, :-8], before[:, :-8])


def test_scores_that_do_not_exist_for_the_task_are_refused():
    with pytest.raises(ConfigError, match="one of 'roc_auc', 'ap', got 'accuracy'"):
        make(tree(), task="link", select="accuracy")
    with pytest.raises(ConfigError, match="got 'ap'"):
        make(tree(), task="node", select="ap")


def test_numbers_that_are_not_finite_have_no_score():
    for kind in ("link", "node"):
        task, _ = make(tree(), task=kind)
        assert isinstance(task, LinkTask | NodeTask)
        with torch.no_grad():
            next(task.predictor.encoder.parameters()).fill_(float("nan"))
        assert task.score("val") != task.score("val")


def settled(graph, **settings):
    return choose(graph, Config(**settings))


def test_settings_left_open_depend_on_what_there_is():
    links = settled(tree(), task="link")
    assert (links.structure, links.root_weight, links.trainable_decoder) == (True, True, True)
    plain = settled(tree(), task="link", structure=False)
    assert (plain.structure, plain.root_weight, plain.trainable_decoder) == (False, False, False)
    nodes = torch.arange(90)
    further = [torch.stack((nodes, nodes.roll(k))) for k in (-2, -1, 1, 2)]
    dense = tree().replace(edge_index=torch.cat(further, dim=1))
    shares = [settled(graph, task="link").hidden_share for graph in (dense, tree(x=None), tree())]
    assert (*shares, plain.hidden_share) == (0.1, 0.1, 0.3, 0.3)  # the third: a tree with features
    nodes = settled(tree(), task="node")
    assert (nodes.structure, nodes.root_weight, nodes.hidden_share) == (False, False, 0.3)
    assert settled(tree(), task="link", model="gcn").root_weight is None  # gcn has none
    words = tree(x=as_features(csr_matrix(torch.eye(90).numpy())))
    for graph, expected in ((tree(), (0.0, 0.0, 2)), (words, (0.5, 0.2, 1))):
        config = settled(graph, task="link")
        assert (config.feature_dropout, config.dropout, config.layers) == expected
    assert settled(words, task="node").feature_dropout == 0


def test_few_edges_for_validation_ask_for_patience():
    large = tree(5000)  # 4999 edges, a twentieth of them for validation
    assert settled(large, task="link").patience == 100
    assert settled(large, task="link", val_share=0.03).patience == 200
    assert settled(tree(), task="link").patience == 200
    assert settled(tree(), task="link", structure=False).patience == 100
    assert settled(tree(), task="node").patience == 100
    own = tree().replace(links={"val": large.edge_index[:, :201] % 90})
    assert settled(own, task="link").patience == 100


def test_settings_that_are_given_stay():
    given = {"hidden_share": 0.0, "trainable_decoder": False, "root_weight": False}
    kept = settled(tree(), task="link", **given)
    assert {name: getattr(kept, name) for name in given} == given


def test_classes_have_no_structural_term():
    with pytest.raises(ConfigError, match="`structure` with links only"):
        settled(tree(), task="node", structure=True)
