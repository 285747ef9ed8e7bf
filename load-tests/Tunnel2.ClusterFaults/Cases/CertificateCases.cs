using Tunnel2.ClusterFaults.Cluster;
using Tunnel2.ClusterFaults.Networks;
using Tunnel2.TestUtilities;

namespace Tunnel2.ClusterFaults.Cases;

/// <summary>e1 has a certificate that is over, e2 one of another cluster's authority.</summary>
internal static class CertificateCases
{
    public static async Task PrepareAsync(FaultCluster cluster, FaultOptions options)
    {
        var folder = cluster.Certificates;
        await Tool.RunAsync("openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-keyout", $"{folder}/old.key", "-out", $"{folder}/old.csr", "-subj", "/CN=e1");
        var names = await Tool.RunAsync("openssl", "x509", "-in", $"{folder}/e1.pem", "-noout", "-ext", "subjectAltName");
        await File.WriteAllTextAsync($"{folder}/old.ext", $"subjectAltName={names.Split('\n')[1].Trim()}\n"
            + "extendedKeyUsage=serverAuth,clientAuth\nkeyUsage=digitalSignature\n");
        await Tool.RunAsync("openssl", "x509", "-req", "-in", $"{folder}/old.csr", "-CA", $"{folder}/ca.pem", "-CAkey", $"{folder}/ca.key",
            "-days", "-1", "-extfile", $"{folder}/old.ext", "-out", $"{folder}/old.pem");
        await File.WriteAllTextAsync(
            $"{folder}/e1.pem", await File.ReadAllTextAsync($"{folder}/old.pem") + await File.ReadAllTextAsync($"{folder}/old.key"));
        await Tool.RunAsync("dotnet", BuiltPrograms.EntryPath, "cluster", "init", "--node", "e2", "--out", $"{folder}/other");
        File.Copy($"{folder}/other/e2.pem", $"{folder}/e2.pem", overwrite: true);
    }

    public static async Task RunAsync(CaseRun run)
    {
        await CaseRun.PassAsync(run.Duration);
        var places = await run.Cluster.LocateAsync();
        var results = await run.EndLoadAsync();
        run.ExpectOnly(
            results, "every request at the node of its session is served",
            result => places.GetValueOrDefault(result.Name) != result.Node);
        var crossed = results.Count(result => result.Problem is null && places.GetValueOrDefault(result.Name) != result.Node);
        run.Expect(crossed == 0, "no request crosses to or from a node that no other trusts", $"{crossed} did");
        foreach (var node in run.Cluster.Nodes)
        {
            var said = node.Process.Lines.FirstOrDefault(static line =>
                line.Contains("certificate", StringComparison.OrdinalIgnoreCase)
                    && (line.Contains("authority", StringComparison.OrdinalIgnoreCase)
                        || line.Contains("expired", StringComparison.OrdinalIgnoreCase)));
            run.Expect(said is not null, $"the log of {node.Id} says why", said?.Trim() ?? "nothing");
        }
    }
}
