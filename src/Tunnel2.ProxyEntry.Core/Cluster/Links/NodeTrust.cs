using System.Globalization;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.Protocol;

namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <summary>
/// Judges the certificate of the other end of a node link: an authority of this cluster has issued it, it is valid now and for this side
/// of TLS, and it is the certificate of a node. The system's authorities never count. Stateless.
/// </summary>
internal static class NodeTrust
{
    private const string ServerUse = "1.3.6.1.5.5.7.3.1";
    private const string ClientUse = "1.3.6.1.5.5.7.3.2";

    /// <summary>Judges a certificate.</summary>
    /// <param name="certificate">The peer's; null: it has shown none.</param>
    /// <param name="others">What it has sent with it.</param>
    /// <param name="authorities">Those of the cluster.</param>
    /// <param name="now">The time, UTC.</param>
    /// <param name="asServer">Whether the peer is the server's side of TLS.</param>
    /// <param name="expected">The node that should be there; null: any.</param>
    /// <param name="node">The node whose certificate it is.</param>
    /// <returns>What is wrong with it, for people; null: it is right.</returns>
    public static string? Judge(
        X509Certificate2? certificate, X509Certificate2Collection? others, X509Certificate2Collection authorities, DateTime now,
        bool asServer, string? expected, out string node)
    {
        node = "";
        if (certificate is null)
        {
            return "it has shown no certificate";
        }

        using var chain = new X509Chain();
        chain.ChainPolicy.TrustMode = X509ChainTrustMode.CustomRootTrust;
        chain.ChainPolicy.CustomTrustStore.AddRange(authorities);
        chain.ChainPolicy.RevocationMode = X509RevocationMode.NoCheck;
        chain.ChainPolicy.DisableCertificateDownloads = true;
        chain.ChainPolicy.VerificationTime = now.ToLocalTime();
        chain.ChainPolicy.VerificationTimeIgnored = false;
        chain.ChainPolicy.ApplicationPolicy.Add(new Oid(asServer ? ServerUse : ClientUse));
        if (others is not null)
        {
            chain.ChainPolicy.ExtraStore.AddRange(others);
        }

        if (!chain.Build(certificate))
        {
            return Describe(chain, certificate, now);
        }

        // Not before: a stranger may have written anything into its certificate.
        var ids = NodeName.In(certificate);
        if (ids.Count == 0)
        {
            return "its certificate is that of no node";
        }

        node = expected is not null && ids.Contains(expected) ? expected : ids[0];
        return expected is null || node == expected
            ? null
            : $"its certificate is that of node {PlainText.Clean(ids[0], maxLength: 64)}, not of {expected}";
    }

    private static string Describe(X509Chain chain, X509Certificate2 certificate, DateTime now)
    {
        var status = X509ChainStatusFlags.NoError;
        foreach (var one in chain.ChainStatus)
        {
            status |= one.Status;
        }

        // The order matters: the dates of a stranger's certificate are of no interest.
        return (status & (X509ChainStatusFlags.UntrustedRoot | X509ChainStatusFlags.PartialChain)) != 0
            ? "its certificate is of no authority of this cluster"
            : (status & X509ChainStatusFlags.NotTimeValid) == 0
            ? $"its certificate is not accepted: {status}"
            : certificate.NotBefore.ToUniversalTime() > now
            ? $"its certificate is valid only from {Day(certificate.NotBefore)}"
            : certificate.NotAfter.ToUniversalTime() < now
            ? $"its certificate has expired on {Day(certificate.NotAfter)}"
            : "a certificate of its chain is not valid now";
    }

    private static string Day(DateTime time) => time.ToUniversalTime().ToString("yyyy-MM-dd HH:mm'Z'", CultureInfo.InvariantCulture);
}
