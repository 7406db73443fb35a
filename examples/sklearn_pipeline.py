"""Hyperbolic networks in scikit-learn: cross-validation, a grid, a pipeline.

Nodes are classified in a simulated epidemic: a tree of people who met, some of whom fell ill. Links
are predicted in a family tree whose members have inherited their features. Run it with

    python examples/sklearn_pipeline.py

One seed and few epochs show how it is done; they do not tell which model is better.
"""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

import hgcn
from hgcn.data import tree_with_features
from hgcn.estimators import HGCNClassifier, HGCNLinkPredictor, link_pairs

EPOCHS = 60


def main() -> None:
    graph = hgcn.load("disease")
    nodes, ill = np.arange(graph.num_nodes), graph.y.numpy()
    folds = StratifiedKFold(3, shuffle=True, random_state=0)

    print("Who is ill? Accuracy in three folds:")
    for name in ("mlp", "hgcn"):
        model = HGCNClassifier(graph, model=name, epochs=EPOCHS)
        print(f"  {name:5}", cross_val_score(model, nodes, ill, cv=folds).round(3))

    grid = GridSearchCV(
        HGCNClassifier(graph, epochs=EPOCHS), {"lr": [0.01, 0.03], "layers": [1, 2]}, cv=folds
    )
    print("Best of a grid:", grid.fit(nodes, ill).best_params_)

    line = make_pipeline(HGCNClassifier(graph, epochs=EPOCHS), LogisticRegression())
    scores = cross_val_score(line, nodes, ill, cv=folds)
    print("Logistic regression on the embeddings:", scores.round(3))

    family = tree_with_features(0.9, depth=5)
    pairs, related = link_pairs(family)
    predictor = HGCNLinkPredictor(family, epochs=EPOCHS)
    scores = cross_val_score(predictor, pairs, related, cv=folds)
    print("Whose child is who? ROC AUC in three folds:", scores.round(3))


if __name__ == "__main__":
    main()
