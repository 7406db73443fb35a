"""Hyperbolic networks in scikit-learn: cross-validation, a grid, a pipeline.

The graph is a simulated epidemic: a tree of people who met, some of whom fell ill. Run it with

    python examples/sklearn_pipeline.py

One seed and few epochs show how it is done; they do not tell which model is better.
"""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

import hgcn
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

    pairs, met = link_pairs(graph)
    predictor = HGCNLinkPredictor(graph, epochs=EPOCHS)
    scores = cross_val_score(predictor, pairs, met, cv=folds)
    print("Who met whom? ROC AUC in three folds:", scores.round(3))


if __name__ == "__main__":
    main()
