using System.Diagnostics.CodeAnalysis;
using System.Net.Security;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Reload;

namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <summary>This node's certificate and the cluster's authorities, as handshakes use them. Thread-safe.</summary>
internal sealed class NodeCertificates
{
    private readonly ReloadingCertificate _own;
    private readonly ReloadingAuthorities _authorities;
    private readonly TimeProvider _timeProvider;

    /// <summary>Reads the files.</summary>
    /// <exception cref="IOException">One cannot be used, or the certificate is not that of this node.</exception>
    public NodeCertificates(ProxyEntrySettings settings, TimeProvider timeProvider, ILogger<NodeCertificates> logger)
    {
        _timeProvider = timeProvider;
        _authorities = new ReloadingAuthorities(settings.NodeLinks.Authorities, logger);
        try
        {
            _own = new ReloadingCertificate(settings.NodeLinks.Certificate, CertificateUse.Nodes, timeProvider, logger);
        }
        catch (Exception exception) when (exception is CryptographicException or UnauthorizedAccessException)
        {
            throw new IOException(
                $"{settings.NodeLinks.Certificate.Path} (Tunnel2:{SettingKeys.ClusterCertificate}) cannot be used: {exception.Message}",
                exception);
        }

        var problem = NodeTrust.Judge(
            _own.Current.Context.TargetCertificate, _own.Current.Context.IntermediateCertificates is { Count: > 0 } others
                ? [.. others]
                : null,
            _authorities.Current, timeProvider.GetUtcNow().UtcDateTime, asServer: true, settings.EntryId, out _);
        if (problem is not null)
        {
            // It starts all the same: a certificate that is renewed next to a wrong clock must not stop the node.
            NodeLinkLog.OwnCertificateRefused(logger, settings.NodeLinks.Certificate.Path, problem);
        }
    }

    /// <summary>What is read again when its files change.</summary>
    public IEnumerable<IReloadable> Reloadables => [_own, _authorities];

    /// <summary>What operators see of the certificate in use.</summary>
    public ReloadingCertificate Own => _own;

    /// <summary>Options for a connection to a node.</summary>
    /// <param name="node">The node that has to be there.</param>
    /// <param name="verdict">Gets what is wrong with the peer.</param>
    [SuppressMessage("Security", "CA5359", Justification = "NodeTrust judges the certificate, against the cluster's authorities only.")]
    public SslClientAuthenticationOptions ForNode(string node, NodeVerdict verdict)
    {
        var authorities = _authorities.Current;
        return new SslClientAuthenticationOptions
        {
            TargetHost = NodeName.Of(node),
            ClientCertificateContext = _own.Current.Context,
            CertificateRevocationCheckMode = X509RevocationMode.NoCheck,
            CertificateChainPolicy = PolicyOf(authorities),
            RemoteCertificateValidationCallback = (_, certificate, chain, _) =>
                Judge(certificate, chain, authorities, asServer: true, node, verdict),
        };
    }

    /// <summary>Options for a connection of a node.</summary>
    /// <param name="verdict">Gets what is wrong with the peer, or which node it is.</param>
    [SuppressMessage("Security", "CA5359", Justification = "NodeTrust judges the certificate, against the cluster's authorities only.")]
    public SslServerAuthenticationOptions ForAnyNode(NodeVerdict verdict)
    {
        var authorities = _authorities.Current;
        return new SslServerAuthenticationOptions
        {
            ServerCertificateContext = _own.Current.Context,
            ClientCertificateRequired = true,
            CertificateRevocationCheckMode = X509RevocationMode.NoCheck,
            CertificateChainPolicy = PolicyOf(authorities),
            RemoteCertificateValidationCallback = (_, certificate, chain, _) =>
                Judge(certificate, chain, authorities, asServer: false, expected: null, verdict),
        };
    }

    private bool Judge(
        X509Certificate? certificate, X509Chain? chain, X509Certificate2Collection authorities, bool asServer, string? expected,
        NodeVerdict verdict)
    {
        verdict.Problem = NodeTrust.Judge(
            certificate as X509Certificate2, chain?.ChainPolicy.ExtraStore, authorities, _timeProvider.GetUtcNow().UtcDateTime, asServer,
            expected, out var node);
        verdict.Node = node;
        return verdict.Problem is null;
    }

    /// <summary>Only so that TLS itself neither asks the system's authorities nor the network.</summary>
    private static X509ChainPolicy PolicyOf(X509Certificate2Collection authorities)
    {
        var policy = new X509ChainPolicy
        {
            TrustMode = X509ChainTrustMode.CustomRootTrust,
            RevocationMode = X509RevocationMode.NoCheck,
            DisableCertificateDownloads = true,
        };
        policy.CustomTrustStore.AddRange(authorities);
        return policy;
    }
}
