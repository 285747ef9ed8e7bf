using System.Globalization;
using System.Net;
using Tunnel2.Protocol;

namespace Tunnel2.ProxyEntry.Configuration;

/// <content>What is checked about visitors: where they are served, and what their requests may bring.</content>
internal sealed partial class SettingsBuilder
{
    private string? OwnPublicCertificate => IsSelfMade(_options.Public.Certificate) ? null : _options.Public.Certificate;

    private void CheckPublicListeners(IPEndPoint? http, IPEndPoint? https)
    {
        if (http is null && https is null && !HasError(SettingKeys.HttpListen) && !HasError(SettingKeys.HttpsListen))
        {
            Report(SettingKeys.HttpListen, "is off, and so is Tunnel2:Public:HttpsListen: no visitor could call.");
        }

        if (https is not null && _options.Public.Certificate is null && _options.Uplink.Certificate is null)
        {
            Report(
                SettingKeys.HttpsListen,
                "HTTPS needs Tunnel2:Public:Certificate: a file (or Tunnel2:Uplink:Certificate, when one serves both), or self-made for trials.");
        }
    }

    private void CheckVisitorLimits()
    {
        CheckRange(SettingKeys.RequestHead, _options.Timeouts.RequestHead, _longestConnect, mayBeOff: true);
        CheckRange(SettingKeys.KeepAlive, _options.Timeouts.KeepAlive, _longestTimeout, mayBeOff: true);
        CheckRange(SettingKeys.HalfClosed, _options.Timeouts.HalfClosed, _longestTimeout, mayBeOff: true);
        CheckBounds(SettingKeys.RequestHeadBytes, _options.Limits.RequestHeadBytes, 1024, ProtocolLimits.MaxHeaderBlockLength);
        CheckBounds(SettingKeys.RequestFields, _options.Limits.RequestFields, 10, ProtocolLimits.MaxHeaderFields);
        CheckBounds(SettingKeys.RequestLineBytes, _options.Limits.RequestLineBytes, 256, ProtocolLimits.MaxHeaderBlockLength);
    }

    private void CheckConnectionLimits()
    {
        CheckCount(SettingKeys.Connections, _options.Limits.Connections);
        CheckCount(SettingKeys.ConnectionsPerAddress, _options.Limits.ConnectionsPerAddress);
        CheckCount(SettingKeys.UplinkConnections, _options.Uplink.Connections);
        CheckCount(SettingKeys.UplinkHandshakes, _options.Uplink.Handshakes);
        CheckCount(SettingKeys.UplinkSessionsPerAgent, _options.Uplink.SessionsPerAgent);
        CheckCount(SettingKeys.AdminConnections, _options.Admin.Connections);
        CheckCount(SettingKeys.HubMaxConnections, _options.Hub.MaxConnections);
    }

    private void CheckCount(string key, int? value)
    {
        if (value is < 1 or > 1_000_000)
        {
            Report(key, "is not between 1 and 1000000.");
        }
    }

    private void CheckBounds(string key, int value, int smallest, int largest)
    {
        if (value < smallest || value > largest)
        {
            Report(key, string.Create(CultureInfo.InvariantCulture, $"{value} is not between {smallest} and {largest}."));
        }
    }
}
