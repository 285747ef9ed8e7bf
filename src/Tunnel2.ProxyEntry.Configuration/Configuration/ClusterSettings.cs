using Tunnel2.Transport.Outputs;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>What makes the process a node of a cluster. Immutable.</summary>
internal sealed class ClusterSettings(SettingsReader read)
{
    /// <summary>The connection string of the database that all nodes share, or null: this process is alone.</summary>
    public string? Database { get; } = read.Secret(
        SettingKeys.ClusterDatabase,
        "makes this process a node of a cluster: the connection string (Npgsql) of the PostgreSQL database that all its nodes share, such "
        + "as `Host=db1,db2;Target Session Attributes=primary;Database=tunnel2;Username=tunnel2`; see [the cluster](cluster.md). Without "
        + "it the process is alone. Give it by environment");

    /// <summary>Where agents reach this node alone, or null: it is announced to none.</summary>
    public string? Uplink { get; } = read.Value<string?>(
        SettingKeys.ClusterUplink, null, "host:port",
        "where agents reach the uplink listener of this node, and no other one. Other nodes announce it to their agents, which then have "
        + "sessions with two nodes; see [the cluster](cluster.md#announced-nodes). Without it the node is announced to none",
        NodeLinkSettings.ParseAdvertise);

    /// <summary>What may fail together with this node; null: not known.</summary>
    public string? Zone { get; } = read.Value<string?>(
        SettingKeys.ClusterZone, null, "1 to 64 of `[A-Za-z0-9._~-]`",
        "what may fail together with this node, such as a building: agents choose nodes of several zones, where they can", ParseZone);

    private readonly string? _secret = read.Text(
        SettingKeys.ClusterSecret, "a file",
        "a secret that all nodes of the cluster share, of `tunnel2-entry cluster init`: private keys of automatic certificates are sealed "
        + "with it in the database, and sessions of [sign-ins](cluster.md#sign-ins) in their cookies. Without it a node keeps certificates "
        + "and sign-ins to itself; see [the cluster](cluster.md#automatic-certificates)",
        inWords: "`cluster/secret` in `StateFolder`, if it is there");

    /// <summary>The secret of the cluster; null: there is none. Of a node of a cluster only.</summary>
    public byte[]? Secret { get; private set; }

    /// <summary>Reads the secret, and reports one that cannot be used.</summary>
    public void Check(SettingsReader read, string stateFolder)
    {
        var path = _secret ?? Path.Combine(stateFolder, NodeLinkSettings.Folder, ClusterSecretFile.Name);
        if (Database is null || (_secret is null && !File.Exists(path)))
        {
            return;
        }

        try
        {
            Secret = ClusterSecretFile.Read(path);
        }
        catch (IOException exception)
        {
            read.Report(
                SettingKeys.ClusterSecret,
                $"{SettingsErrorFormatter.Quote(path)} cannot be used: {FileFailure.Reason(path, exception)} "
                    + "'tunnel2-entry cluster init' makes one.");
        }
    }

    private static string? ParseZone(string text, out string? value)
    {
        value = text;
        return text.Length <= 64 && text.All(static c => char.IsAsciiLetterOrDigit(c) || c is '.' or '_' or '~' or '-')
            ? null
            : "is not a zone: 1 to 64 of [A-Za-z0-9._~-].";
    }
}
