#!/usr/bin/env python3
"""Checks the files of docker/: manifests of Kubernetes and of Docker Compose.

    python3 Tests/System/packages/manifests.py

kubectl builds the manifests, without a cluster; kubernetes-validate checks them against the schemas that Kubernetes has
published. Compose's own `config` checks compose files: the plugin of `docker` if it is there, else that of Debian 13, which
is put into a folder of its own by debootstrap.
"""
import json, os, shutil, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit import roots
from kit.programs import ROOT as TOP
from kit.verdicts import check, finish

sys.path.insert(0, os.path.join(TOP, ".build/kubernetes-validate"))
import kubernetes_validate, yaml

VERSIONS = ("1.29", "1.34")
COMPOSE = ("docker/compose.yaml", "docker/compose.chaos.yaml")
PROBES = ("startupProbe", "livenessProbe", "readinessProbe")
# The program of docker/Dockerfile asks the server, as its health check does.
ASKS = ["/usr/bin/squall", "ctl", "list", "--host", "http://127.0.0.1:8474"]
KUSTOMIZATION = """apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
"""


def built(name, folder=None):
    folder = folder or os.path.join(TOP, "docker/kubernetes", name)
    result = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, text=True)
    check(result.returncode == 0, f"kubectl builds {name}", result.stderr)
    return [document for document in yaml.safe_load_all(result.stdout) if document]


def problems(manifest, version):
    try:
        kubernetes_validate.validate(manifest, version, strict=True)
        return ""
    except Exception as error:
        return str(error).splitlines()[0]


def squall(documents):
    """The pod with squall in it, and the container."""
    for document in documents:
        if document["kind"] == "Deployment":
            pod = document["spec"]["template"]
            for container in pod["spec"].get("initContainers", []) + pod["spec"]["containers"]:
                if container["name"] == "squall":
                    return pod, container
    sys.exit("no container squall")


def check_manifests(name, listens_at):
    """The documents of a folder. The API of squall listens where its proxies do."""
    documents = built(name)
    for document in documents:
        for version in VERSIONS:
            problem = problems(document, version)
            check(not problem, f"{name}: {document['kind']} {document['metadata']['name']} is one of {version}", problem)
    pod, container = squall(documents)
    maps = {document["metadata"]["name"]: document["data"] for document in documents if document["kind"] == "ConfigMap"}
    volumes = {volume["name"]: volume["configMap"]["name"] for volume in pod["spec"]["volumes"] if "configMap" in volume}
    mounts = {mount["mountPath"]: mount for mount in container["volumeMounts"]}
    check(set(volumes.values()) <= set(maps), f"{name}: every mounted ConfigMap is there", f"{volumes} {list(maps)}")
    check(volumes["squall-profiles"] == "squall-profiles", f"{name}: the profiles have a fixed name, so that they can change")
    check(not any("subPath" in mount for mount in mounts.values()), f"{name}: mounts are folders, whose files change")
    empty = [volume["name"] for volume in pod["spec"]["volumes"] if "emptyDir" in volume]
    check(mounts["/tmp"]["name"] in empty, f"{name}: certificates and captures have a place that can be written")
    arguments = dict(argument.lstrip("-").split("=", 1) for argument in container["args"] if argument.startswith("--"))
    folder, config = arguments["profiles"], arguments["config"]
    proxies = json.loads(maps[volumes[mounts[os.path.dirname(config)]["name"]]][os.path.basename(config)])
    profiles = maps[volumes[mounts[folder]["name"]]]
    for proxy in proxies:
        check(f"{proxy['profile']}.json" in profiles, f"{name}: the profile of {proxy['name']} is mounted")
        check(proxy["listen"].startswith(listens_at), f"{name}: {proxy['name']} listens at {listens_at}")
    check(f"{arguments['host']}:" == listens_at, f"{name}: the API listens at {listens_at}", arguments["host"])
    annotations = pod["metadata"].get("annotations", {})
    ports = {port["name"]: port["containerPort"] for port in container.get("ports", [])}
    if arguments["host"] == "127.0.0.1":
        check(not annotations and not ports, f"{name}: nothing asks from elsewhere for what listens on 127.0.0.1")
        for probe in PROBES:
            check(container[probe]["exec"]["command"] == ASKS, f"{name}: {probe} asks the control server")
    else:
        check(annotations["prometheus.io/port"] == "8474" and 8474 in ports.values(), f"{name}: Prometheus finds the metrics")
        for probe in PROBES:
            get = container[probe]["httpGet"]
            check(get["path"] == "/version" and ports[get["port"]] == 8474, f"{name}: {probe} asks the control server")
    services = [document for document in documents if document["kind"] == "Service"]
    for service in services:
        check(
            service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
            and all(port["targetPort"] in ports for port in service["spec"]["ports"]),
            f"{name}: the service leads to the pod",
        )
        given = {port["port"] for port in service["spec"]["ports"]} - {8474}
        check(given == {int(proxy["listen"].split(":")[1]) for proxy in proxies}, f"{name}: the service has every proxy")


def check_elsewhere():
    """The base and the overlay of another repository, as the head of example/kustomization.yaml describes them."""
    with tempfile.TemporaryDirectory(prefix="squall-manifests-") as folder:
        # A kustomization takes no component by an absolute path, nor a file from outside of its folder.
        shutil.copytree(os.path.join(TOP, "docker/kubernetes"), os.path.join(folder, "squall"))
        files = {
            "base/kustomization.yaml": "resources: [application.yaml]\ncomponents: [../squall/sidecar]\n",
            "overlay/kustomization.yaml": "resources: [../base]\nconfigMapGenerator:\n"
            "  - { name: squall-proxies, behavior: replace, files: [proxies.json] }\n"
            "  - { name: squall-profiles, behavior: merge, files: [own.json] }\n",
        }
        for name, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(folder, name)))
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(KUSTOMIZATION + text)
        shutil.copy(os.path.join(TOP, "docker/kubernetes/example/application.yaml"), os.path.join(folder, "base"))
        for name in ("proxies.json", "own.json"):
            with open(os.path.join(folder, "overlay", name), "w", encoding="utf-8") as file:
                file.write("{}")
        documents = built("the overlay of another repository", os.path.join(folder, "overlay"))
    pod, _ = squall(documents)
    maps = {document["metadata"]["name"]: document["data"] for document in documents if document["kind"] == "ConfigMap"}
    mounted = {volume["name"]: volume["configMap"]["name"] for volume in pod["spec"]["volumes"] if "configMap" in volume}
    check(maps[mounted["squall-proxies"]] == {"proxies.json": "{}"}, "another repository replaces the proxies", str(maps))
    check(set(maps["squall-profiles"]) == {"bad-wifi.json", "own.json"}, "another repository adds profiles", str(maps))


def compose():
    """The command of Compose, for files below a folder, and that folder."""
    if shutil.which("docker") and not subprocess.run(["docker", "compose", "version"], capture_output=True).returncode:
        return ["docker", "compose"], TOP
    root = roots.debian("trixie", ["docker-compose"])
    copy = os.path.join(root, "squall")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(os.path.join(TOP, "docker"), os.path.join(copy, "docker"))
    return ["chroot", root, "docker-compose"], "/squall"


def check_compose():
    command, folder = compose()
    for name in COMPOSE:
        result = subprocess.run([*command, "-f", f"{folder}/{name}", "config"], capture_output=True, text=True)
        check(result.returncode == 0 and "services:" in result.stdout, f"compose takes {name}", result.stderr)
        if result.returncode == 0:
            check(not result.stderr.strip(), f"compose has no warning about {name}", result.stderr)
    # A file that is wrong has to be told from a right one.
    broken = subprocess.run(
        [*command, "-f", "-", "config"], input="services: { a: { image: x, prots: [1] } }", capture_output=True, text=True
    )
    check(broken.returncode != 0, "compose refuses an unknown key")


def main():
    check_manifests("stand-alone", "0.0.0.0:")
    check_manifests("example", "127.0.0.1:")
    check_elsewhere()
    wrong = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": {"replica": 1}}
    check(problems(wrong, VERSIONS[0]), "a wrong manifest is found")
    check_compose()
    finish()


if __name__ == "__main__":
    main()
