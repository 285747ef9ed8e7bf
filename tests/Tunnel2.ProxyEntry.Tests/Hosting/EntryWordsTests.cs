using Tunnel2.ProxyEntry.Hosting;

namespace Tunnel2.ProxyEntry.Tests.Hosting;

public sealed class EntryWordsTests
{
    [Theory]
    [InlineData("sesions list", "'sesions' is not a command, did you mean 'sessions'?")]
    [InlineData("tokne", "'tokne' is not a command, did you mean 'token'?")]
    [InlineData("polices list", "'polices' is not a command, did you mean 'policies'?")]
    [InlineData("policies sett policy.json", "'policies sett' is not a command, did you mean 'policies set'?")]
    [InlineData("agents lits", "'agents lits' is not a command, did you mean 'agents list'?")]
    [InlineData("request list web", "'request' is not a command, did you mean 'requests'?")]
    [InlineData("requests", "'requests' needs one of these after it: list")]
    [InlineData("sessions lst", "'sessions lst' is not a command, did you mean 'sessions list'?")]
    [InlineData("token crate --name web", "'token crate' is not a command, did you mean 'token create'?")]
    [InlineData("certificate lsit", "'certificate lsit' is not a command, did you mean 'certificate list'?")]
    [InlineData("cluster stats", "'cluster stats' is not a command, did you mean 'cluster status'?")]
    [InlineData("cluster \u001b[31mxxxxxxxxxxxxxxxx", "' is not a command; after 'cluster' comes one of init, status, nodes, drain")]
    [InlineData("cluster", "'cluster' needs one of these after it: init, status, nodes, drain")]
    [InlineData("token --keep", "'token' needs one of these after it: create, list, revoke")]
    public void A_wrong_word_names_the_nearest_right_one(string line, string mistake)
    {
        var words = line.Split(' ');
        Assert.EndsWith(mistake, EntryWords.MistakeOf(words), StringComparison.Ordinal);
        Assert.DoesNotContain('\u001b', EntryWords.MistakeOf(words)!);
        Assert.StartsWith("usage: tunnel2-entry", EntryWords.UsageOf(words[0]), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("tokens list", "token list")]
    [InlineData("session kick web", "sessions kick web")]
    [InlineData("policy show --name web", "policies show --name web")]
    [InlineData("help certificates", "help certificate")]
    [InlineData("token create --name tokens", "token create --name tokens")]
    [InlineData("help", "help")]
    [InlineData("", "")]
    public void Singular_and_plural_are_the_same_command(string line, string named) => Assert.Equal(
        named, string.Join(' ', EntryWords.Named(line.Split(' ', StringSplitOptions.RemoveEmptyEntries))));

    [Theory]
    [InlineData("token create --name=web --tier=pro", "token create --name web --tier pro")]
    [InlineData("requests list web --limit=1 --json --admin=http://a?b=c", "requests list web --limit 1 --json --admin http://a?b=c")]
    [InlineData("agents list --admin= --Tunnel2:Domain=x --tunnel2:Domain=y", "agents list --admin  --Tunnel2:Domain=x --tunnel2:Domain=y")]
    [InlineData("health http://a?b=c", "health http://a?b=c")]
    [InlineData("policies set --=x", "policies set --=x")]
    [InlineData("--Domain=x", "--Domain=x")]
    [InlineData("", "")]
    public void An_option_and_its_value_may_be_one_word(string line, string words) => Assert.Equal(
        words, string.Join(' ', EntryWords.Separated(line.Split(' ', StringSplitOptions.RemoveEmptyEntries))));

    [Theory]
    [InlineData("")]
    [InlineData("--Tunnel2:Domain=x")]
    [InlineData("Tunnel2:Domain=x")]
    [InlineData("token create --name web")]
    [InlineData("sessions kick web")]
    [InlineData("certificate test")]
    [InlineData("policies set policy.json --name web")]
    [InlineData("agents list")]
    [InlineData("requests list web")]
    [InlineData("cluster nodes")]
    [InlineData("health http://127.0.0.1:12002")]
    [InlineData("help token")]
    public void Right_words_and_settings_are_left_alone(string line) =>
        Assert.Null(EntryWords.MistakeOf(line.Split(' ', StringSplitOptions.RemoveEmptyEntries)));

    [Theory]
    [InlineData("--Tunnel2:Domain", "--Tunnel2:Domain needs a value, as in --Tunnel2:Domain=value")]
    [InlineData("--Tunnel2:Admin:Token --Tunnel2:Domain=x", "--Tunnel2:Admin:Token needs a value, as in --Tunnel2:Admin:Token=value")]
    [InlineData("--Tunnel2:Domain=x y", "'y' is neither a command nor a setting; settings are given as --Tunnel2:Key=value")]
    [InlineData("--Domain=x", "'--Domain=x' is neither a command nor a setting; settings are given as --Tunnel2:Key=value")]
    [InlineData("version extra", "'version' takes nothing after it")]
    [InlineData("help tokne", "'tokne' is not a command, did you mean 'token'?")]
    [InlineData("--Tunnel2:Domain x", null)]
    [InlineData("--tunnel2:domain=x --Tunnel2:EntryId e1", null)]
    [InlineData("", null)]
    public void What_is_no_setting_of_the_server_is_named(string words, string? mistake) =>
        Assert.Equal(mistake, EntryWords.StrayIn(words.Split(' ', StringSplitOptions.RemoveEmptyEntries)));
}
